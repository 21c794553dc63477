"""Faults that a review put in and no test noticed: each broke a promise in silence."""

# ruff: noqa: E501  (lines of the package are quoted as they stand, under more indentation)

from tests.mutants.fault import Fault, in_file

CVXPY_ROWS = "tests/promises/test_cvxpy_rows.py"
ENTRIES = "tests/promises/test_expected_entries.py"
ENVIRONMENTS = "tests/promises/test_environments.py"
FORGED = "tests/promises/test_forged_releases.py"
CLAIMS = "tests/unit/verification/test_forged_claims.py"
FILES_OF_TOTALS = "tests/unit/verification/test_totals.py"
TOTALS = "tests/unit/release/test_totals.py"

FAULTS = (
    *in_file(
        "dp_cmdp/frontends/cvxpy/affine_map.py",
        (CVXPY_ROWS,),
        Fault(
            "bounds-of-rounded-quotients",
            "a row of one variable is kept exactly: its limit is a bound only if it is no rounding",
            "is_exact = (np.abs(np.frexp(alone.coefficient)[0]) == 0.5) & (np.abs(limit) > 2.0**-1000)",
            "is_exact = np.abs(limit) > 2.0**-1000",
        ),
        Fault(
            "bounds-of-underflowing-quotients",
            "a row of one variable is kept exactly among the smallest floats",
            "is_exact = (np.abs(np.frexp(alone.coefficient)[0]) == 0.5) & (np.abs(limit) > 2.0**-1000)",
            "is_exact = np.abs(np.frexp(alone.coefficient)[0]) == 0.5",
        ),
        Fault(
            "last-lower-bound-only",
            "of several limits on one variable all are kept",
            "np.maximum.at(lower, alone.col[up & is_exact], limit[up & is_exact] + 0.0)",
            "lower[alone.col[up & is_exact]] = limit[up & is_exact] + 0.0",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/cvxpy/curved.py",
        (CVXPY_ROWS,),
        Fault(
            "curved-public-rows-unchecked",
            "a curved objective leaves public rows exact",
            "return np.concatenate([sensitive, inequality_slack(program.A_ub, program.b_ub, x=x[:n])])",
            "return sensitive",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/cvxpy/parameter.py",
        (CVXPY_ROWS,),
        Fault(
            "sign-of-one-bound",
            "a private parameter has a sign only if all of its range has it",
            'signs = {"nonneg": bool((low >= 0).all()), "nonpos": bool((high <= 0).all())}',
            'signs = {"nonneg": bool((high >= 0).all()), "nonpos": bool((high <= 0).all())}',
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/charges.py",
        (ENTRIES,),
        Fault(
            "entries-of-rounded-rows",
            "expected entries are divided by the sum of their row of T, and never rounded down",
            "certain = ((np.diff(T.indptr) == 1) & (mass == 1.0) & ~broken)[pair]",
            "certain = ((np.diff(T.indptr) == 1) & ~broken)[pair]",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/exploration.py",
        (ENVIRONMENTS,),
        Fault(
            "explored-once",
            "a later way to a known state is tried again with every action",
            "self.try_again(state, node)",
            "pass",
            within="def meet_again",
        ),
        Fault(
            "explored-by-one-other-way",
            "a later way is tried again beside one that is as long as the first",
            "kind = state, node.depth > self.depths[state]",
            "kind = state, False",
        ),
        Fault(
            "depth-not-counted",
            "a longer way is known as one",
            "return outcome, Node(env, node.depth + 1)",
            "return outcome, Node(env, node.depth)",
        ),
        Fault(
            "end-on-a-walk-unseen",
            "random walks must end where the table says",
            "over = before[action].over if outcome.cut else outcome.over",
            "over = before[action].over",
        ),
        Fault(
            "start-of-one-seed-believed",
            "an environment starts alike from one seed",
            "others = range(SEED + 1, SEED + 1 + OTHER_SEEDS) if seed is None else [seed]",
            "others = range(SEED + 1, SEED + 1 + OTHER_SEEDS) if seed is None else []",
        ),
        Fault(
            "generator-made-by-a-step",
            "a step that makes a generator and draws from it is refused",
            "states: list[Any] = [own is None, random.getstate(), np.random.get_state()]  # noqa: NPY002",
            "states: list[Any] = [random.getstate(), np.random.get_state()]  # noqa: NPY002",
        ),
        Fault(
            "random-state-unwatched",
            "a step that draws from a RandomState is refused",
            "states.append(part.get_state())",
            "pass",
        ),
        Fault(
            "random-random-unwatched",
            "a step that draws from a random.Random is refused",
            "states.append(part.getstate())",
            "pass",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/agreement.py",
        (ENVIRONMENTS,),
        Fault(
            "impossible-outcomes-followed",
            "what a table gives probability 0 is refused when it is seen",
            "if p > 0.0:",
            "if True:",
        ),
    ),
    *in_file(
        "dp_cmdp/verification/lattice.py",
        (FORGED, CLAIMS),
        Fault(
            "interval-beyond-the-bounds",
            "an interval that meets the public bounds nowhere is refused",
            "possible = (low <= bounds[1]) & (high >= bounds[0])",
            "possible = np.ones(low.size, dtype=bool)",
        ),
        Fault(
            "one-radius-compared",
            "every radius is the certified number of steps",
            "return all(Fraction(radius) == proof.steps * Fraction(each) for radius, each in pairs)",
            "return any(Fraction(radius) == proof.steps * Fraction(each) for radius, each in pairs)",
        ),
        Fault(
            "untruncated-noise-anywhere",
            "estimates with untruncated noise lie in the middle of a cell",
            "return ~(on_cell & (lower == bounds[0]) & (upper == bounds[1]))",
            "return ~((lower == bounds[0]) & (upper == bounds[1]))",
        ),
        Fault(
            "honest-widening-refused",
            "intervals with room for rounding are what their noise makes",
            "low = np.where(error > 0.0, np.nextafter(low - error, -np.inf), low)",
            "pass",
        ),
    ),
    *in_file(
        "dp_cmdp/verification/totals.py",
        (FORGED, FILES_OF_TOTALS),
        Fault(
            "grid-compared-in-one-entry",
            "a measured sum weighs its entries as it was measured",
            'bool((totals.grid == entry_grid(envelope)).all()), "totals: their grid is not the entries\'"',
            'bool((totals.grid == entry_grid(envelope)).any()), "totals: their grid is not the entries\'"',
        ),
        Fault(
            "records-across-totals",
            "noise covers what a record moves in all totals together",
            "largest == proof.steps and whole == proof.steps * proof.entries,",
            "largest == proof.steps,",
        ),
        Fault(
            "index-below-all-databases",
            "an index that no database leads to is refused",
            "sum(map(min, ends)) - totals.support <= index <= sum(map(max, ends)) + totals.support,",
            "index <= sum(map(max, ends)) + totals.support,",
        ),
        Fault(
            "share-of-entries-alone-believed",
            "a plan that looked at entries says so",
            'and (share > 0) == ("database" in spent)',
            "and True",
        ),
    ),
    *in_file(
        "dp_cmdp/verification/claims.py",
        (CLAIMS,),
        Fault(
            "version-of-any-text",
            "what a file says of its version is a short text",
            "release.version.isprintable() and 0 < len(release.version) <= 100,",
            "True,",
        ),
    ),
    *in_file(
        "dp_cmdp/verification/parts.py",
        (CLAIMS,),
        Fault(
            "blocks-beside-entries",
            "a release of entries has no blocks",
            'refuse_unless(release.blocks is None, "a database release has no blocks")',
            "pass",
        ),
    ),
    *in_file(
        "dp_cmdp/verification/files.py",
        (CLAIMS,),
        Fault(
            "groups-of-another-program",
            "a release belongs to a program with the same groups",
            "if any(whole.facts[key] != said for key, said in facts.items()) or any(",
            "if any(",
        ),
    ),
    *in_file(
        "dp_cmdp/data/totals.py",
        (TOTALS,),
        Fault(
            "counts-beyond-exact-sums",
            "counts that floats may not add up exactly are refused",
            "if (above >= EXACT_SUM).any():",
            "if False:",
        ),
    ),
)
