"""Faults in releases: sensitivity, budgets, the mechanisms, what a release file may say."""

# ruff: noqa: E501  (lines of the package are quoted as they stand, under more indentation)

from tests.mutants.fault import Fault, in_file

PRIVATIZER = "tests/unit/test_privatizer.py"
PARAMETRIC = "tests/unit/test_parametric.py"
PRIVACY = "tests/unit/test_privacy.py"
DATABASE = "tests/unit/test_database.py"
FEASIBILITY = "tests/property/test_feasibility.py"
BAD_CALLS = "tests/property/test_bad_calls.py"

FAULTS = (
    *in_file(
        "dp_cmdp/affine.py",
        (PARAMETRIC, PRIVATIZER, FEASIBILITY),
        Fault(
            "sensitivity-signed",
            "a sensitivity adds up sizes of changes, whatever their signs",
            "moved = np.abs(self.coefficient) * radius[self.entry]",
            "moved = self.coefficient * radius[self.entry]",
        ),
        Fault(
            "sensitivity-without-records",
            "all entries of a record move together",
            "total = np.bincount(records[self.entry], weights=moved)",
            "total = np.bincount(self.entry, weights=moved)",
        ),
        Fault(
            "bounds-not-widened",
            "bounds of an LP entry are rounded outwards",
            "return base + low - error, base + high + error",
            "return base + low, base + high",
        ),
        Fault(
            "bounds-of-one-end",
            "bounds take each term at its own worst end",
            "for terms in (np.minimum(*ends), np.maximum(*ends))",
            "for terms in ends",
        ),
        Fault(
            "rounding-of-constants-forgotten",
            "the rounding of a sum counts its public part",
            "is_exact = (count == 1) & (base == 0.0) & (weight == 1.0)",
            "is_exact = (count == 1) & (weight == 1.0)",
        ),
        Fault(
            "rounding-of-products-forgotten",
            "the rounding of a sum counts its products",
            "is_exact = (count == 1) & (base == 0.0) & (weight == 1.0)",
            "is_exact = (count == 1) & (base == 0.0)",
        ),
        Fault(
            "cancelled-terms-stay-sensitive",
            "a position is sensitive exactly if it varies with the data",
            "keep = np.flatnonzero(new)[total != 0]",
            "keep = np.flatnonzero(new)",
        ),
    ),
    *in_file(
        "dp_cmdp/block_noise.py",
        (PRIVATIZER, PARAMETRIC),
        Fault(
            "spread-of-one",
            "rounding counts every entry of a block that one record moves",
            "return int(np.bincount(pairs[0]).max())",
            "return 1",
        ),
        Fault(
            "spread-mean",
            "rounding counts the record that moves most entries",
            "return int(np.bincount(pairs[0]).max())",
            "return int(np.bincount(pairs[0]).mean())",
        ),
        Fault(
            "block-rounding-forgotten",
            "a block moves by its sensitivity and by the rounding of its sums",
            "moved = program.sensitivity(block) + 2.0 * spread * float(block_rounding(program, block).max())",
            "moved = program.sensitivity(block)",
        ),
        Fault(
            "unprotected-block-silent",
            "a sensitive block without budget is refused unless the leak is allowed",
            "if bare and not allow_leak:",
            "if bare and allow_leak:",
        ),
        Fault(
            "unprotected-block-unrecorded",
            "what is published bare is named in the release",
            'return tuple(f"block {block} unprotected" for block in bare)',
            "return ()",
        ),
        Fault(
            "public-block-funded",
            "budget for a public block is refused",
            "if share.epsilon > 0 and getattr(program, block).is_public:",
            "if share.epsilon > 1 and getattr(program, block).is_public:",
        ),
        Fault(
            "block-entries-of-b-for-A",
            "the paper's support for A counts m·n entries",
            'entries=m * n if block == "A" else m,',
            "entries=m,",
        ),
        Fault(
            "entrywise-assumptions-unchecked",
            "assumptions of Algorithm 1 are checked before data is read",
            "target.check_robust_feasibility()",
            "pass",
        ),
        Fault(
            "entrywise-boundedness-unchecked",
            "assumptions of Algorithm 1 are checked before data is read",
            "target.check_boundedness(any_objective=True)",
            "pass",
        ),
    ),
    *in_file(
        "dp_cmdp/entrywise.py",
        (PRIVATIZER, FEASIBILITY, PARAMETRIC),
        Fault(
            "entry-values-without-constants",
            "the entries released are those of the program",
            "found[block] = part.base(row, col) + moved",
            "found[block] = moved",
        ),
        Fault(
            "entry-constants-kept",
            "an entry of the entrywise program is the released number alone",
            "constant[row] = 0.0",
            "pass",
        ),
    ),
    *in_file(
        "dp_cmdp/envelope.py",
        (DATABASE,),
        Fault(
            "radius-rounded-down",
            "the default radius covers the whole range",
            "return np.where(error > 0.0, np.nextafter(width, np.inf), width)",
            "return width",
        ),
        Fault(
            "record-size-mean",
            "the record size is that of the largest record",
            "return int(np.unique(self.records, return_counts=True)[1].max())",
            "return int(np.unique(self.records, return_counts=True)[1].mean())",
        ),
        Fault(
            "joined-records-collide",
            "records of joined groups stay apart",
            "labels = [part.records + shift for part, shift in zip(parts, offsets, strict=True)]",
            "labels = [part.records for part, shift in zip(parts, offsets, strict=True)]",
            tests=(DATABASE, PRIVATIZER),
        ),
        Fault(
            "envelope-contains-one-side",
            "a value outside the public bounds is refused",
            "return bool(((self.lower <= values) & (values <= self.upper)).all())",
            "return bool((values <= self.upper).all())",
        ),
        Fault(
            "radius-beyond-the-range",
            "a radius is at most the range",
            "if (radius > (upper - lower) * (1 + 1e-12)).any():",
            "if (radius > 2 * (upper - lower)).any():",
        ),
    ),
    *in_file(
        "dp_cmdp/privatizer.py",
        (PRIVATIZER, BAD_CALLS, FEASIBILITY),
        Fault(
            "record-size-forgotten",
            "a database release protects whole records",
            "Query(envelope.radius, _largest(envelope), together=envelope.largest_record),",
            "Query(envelope.radius, _largest(envelope)),",
        ),
        Fault(
            "release-unclipped-estimate",
            "the published estimate lies in the public bounds",
            "estimate=np.clip(cut.estimate, envelope.lower, envelope.upper),",
            "estimate=cut.estimate,",
        ),
        Fault(
            "release-unclipped-intervals",
            "released intervals lie in the public bounds",
            "cut = plan.draw(database.values).clipped(envelope.lower, envelope.upper)",
            "cut = plan.draw(database.values)",
        ),
        Fault(
            "simulation-called-secure",
            "a release with noise from a seed says so",
            "secure=rng is None,",
            "secure=True,",
            within="def release_database(",
        ),
        Fault(
            "block-simulation-called-secure",
            "a release with noise from a seed says so",
            "secure=rng is None,",
            "secure=True,",
            within="def release_blocks(",
        ),
        Fault(
            "leaks-unrecorded",
            "a block release names what it left bare",
            "leaks=leaks,",
            "leaks=(),",
        ),
        Fault(
            "realised-mask-unrecorded",
            "the realised zero pattern is recorded as a leak",
            "leaks = (*leaks, REALISED_MASK)",
            "leaks = (*leaks,)",
        ),
        Fault(
            "realised-mask-by-default",
            "the mask of sensitive entries never comes from the data",
            "if realised_mask_NOT_PRIVATE:",
            "if not realised_mask_NOT_PRIVATE or realised_mask_NOT_PRIVATE:",
        ),
        Fault(
            "blocks-not-widened",
            "block intervals make room for the rounding of their entries",
            "drawn = plan.draw(values[block]).widened(block_rounding(program, block))",
            "drawn = plan.draw(values[block])",
        ),
        Fault(
            "blocks-read-before-debit",
            "the budget is debited before any value is read",
            '_debit(ledger, database, budget, "release_blocks")',
            'values = entry_values(program, database.values); _debit(ledger, database, budget, "release_blocks")',
        ),
        Fault(
            "database-read-before-debit",
            "the budget is debited before any value is read",
            '_debit(ledger, database, budget, "release_database")',
            'plan.draw(database.values); _debit(ledger, database, budget, "release_database")',
        ),
        Fault(
            "release-without-debit",
            "a release with a ledger is debited",
            '_debit(ledger, database, budget, "release_database")',
            "pass",
        ),
        Fault(
            "debit-half",
            "the debit is the whole budget of the release",
            "ledger.debit(database.identity, budget, note=note)",
            "ledger.debit(database.identity, PrivacyBudget(budget.epsilon / 2, budget.delta), note=note)",
        ),
        Fault(
            "foreign-program-accepted",
            "a block release belongs to one program and one database",
            "if program.envelope is not database.envelope:",
            "if program.envelope.num_entries != database.envelope.num_entries:",
        ),
        Fault(
            "optimal-noise-for-records",
            "optimal noise is refused where a record has several entries",
            "if envelope.largest_record > 1:",
            "if envelope.largest_record > 2:",
        ),
        Fault(
            "close-end-swapped",
            "optimal noise keeps the end close that the caller chose",
            'high[envelope.index(name)] = _check.one_of("close", side, ("upper", "lower")) == "upper"',
            'high[envelope.index(name)] = _check.one_of("close", side, ("upper", "lower")) == "lower"',
        ),
        Fault(
            "ledger-without-identity",
            "a ledger needs to know whose budget is spent",
            "if database.identity is None:",
            "if database.identity is None and rng is not None:",
        ),
        Fault(
            "foreign-release-solved",
            "a release that leaves the program's bounds is refused",
            "if not target.envelope.encloses(release.lower, release.upper):",
            "if False:",
        ),
        Fault(
            "certificate-over-the-estimate",
            "the certificate of a private answer covers the whole released box",
            "return target.worst_case_slack(x[:n], lower=release.lower, upper=release.upper)",
            "return target.worst_case_slack(x[:n], lower=release.estimate, upper=release.estimate)",
        ),
        Fault(
            "robust-over-the-estimate",
            "a private answer is feasible for everything the release allows",
            "lp = target.robust(release.lower, release.upper, estimate=release.estimate)",
            "lp = target.robust(release.estimate, release.estimate, estimate=release.estimate)",
        ),
    ),
    *in_file(
        "dp_cmdp/privacy.py",
        (PRIVACY, PRIVATIZER),
        Fault(
            "delta-not-shared",
            "A and b share δ",
            "delta=budget.delta / len(bounded) if block in bounded else Fraction(0),",
            "delta=budget.delta if block in bounded else Fraction(0),",
        ),
        Fault(
            "shares-not-rescaled",
            "shares of ε sum to ε exactly",
            "epsilon=alpha[block] / total * budget.epsilon,",
            "epsilon=alpha[block] * budget.epsilon,",
        ),
        Fault(
            "alphas-above-one",
            "shares that sum to more than 1 are refused",
            "if abs(total - 1) > Fraction(1, 10**9):",
            "if 1 - total > Fraction(1, 10**9):",
        ),
        Fault(
            "alphas-negative",
            "a negative share is refused",
            "if any(value < 0 for value in alpha.values()):",
            "if all(value < 0 for value in alpha.values()):",
        ),
        Fault(
            "composition-of-the-largest",
            "releases of one database add up",
            "return PrivacyBudget(sum(b.epsilon for b in spent), sum(b.delta for b in spent))",
            "return PrivacyBudget(sum(b.epsilon for b in spent), max(b.delta for b in spent))",
        ),
        Fault(
            "loss-shown-rounded-down",
            "a loss is never shown too small",
            'return f"{float(math.ceil(value / unit) * unit):.{digits}g}"',
            'return f"{float(math.floor(value / unit) * unit):.{digits}g}"',
        ),
        Fault(
            "loss-shown-after-a-rounded-logarithm",
            "a loss is never shown too small",
            "exponent += value >= Fraction(10) ** (exponent + 1)  # the logarithms may round down",
            "pass",
        ),
        Fault(
            "floats-by-their-bits",
            "a budget of 0.1 is one tenth",
            "text = str(value) if isinstance(value, Decimal) else repr(float(value))",
            "return Fraction(value)",
        ),
        Fault(
            "epsilon-zero-accepted",
            "ε is positive",
            "if eps <= 0:",
            "if eps < 0:",
            "what is 0 is below 1e-300, which the loop over both numbers refuses with the same error",
        ),
        Fault(
            "delta-above-half-accepted",
            "δ above 1/2 is refused",
            "if not 0 < dlt <= HALF:",
            "if not 0 < dlt <= 1:",
        ),
    ),
    *in_file(
        "dp_cmdp/release.py",
        (DATABASE, "tests/unit/test_boundary.py"),
        Fault(
            "release-crossed-ends",
            "a release whose intervals are empty is refused",
            "if (self.lower > self.upper).any():",
            "if (self.lower > self.upper).all():",
        ),
        Fault(
            "release-file-forgets-leaks",
            "what was left bare is still named when a release is read back",
            'leaks=tuple(str(leak) for leak in facts["leaks"]),',
            "leaks=(),",
        ),
        Fault(
            "release-file-always-secure",
            "a simulation is still marked when a release is read back",
            'secure=facts["secure"],',
            "secure=True,",
        ),
        Fault(
            "guarantee-negative-epsilon",
            "a guarantee of negative ε is refused",
            "if self.epsilon < 0:",
            "if self.epsilon < -1:",
        ),
        Fault(
            "release-repr-hides-leaks",
            "what was left bare is shown",
            'leak = f", LEAKS {\', \'.join(self.leaks)}" if self.leaks else ""',
            'leak = ""',
            tests=(PRIVATIZER,),
        ),
    ),
)
