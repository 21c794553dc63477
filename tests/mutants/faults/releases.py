"""Faults in releases: the mechanisms, and what a release file may say."""

# ruff: noqa: E501  (lines of the package are quoted as they stand, under more indentation)

from tests.mutants.fault import Fault, in_file

BAD_CALLS = (
    "tests/property/test_bad_calls.py::"
    "test_the_debit_comes_before_the_first_read_and_a_refusal_reads_nothing"
)
PROMISES = "tests/unit/release/test_promises.py"
CHOSEN = "tests/unit/noise/test_chosen_noise.py"
PRIVATIZER = "tests/unit/release/test_privatizer.py"
DATABASE = "tests/unit/data/test_database.py"
FEASIBILITY = "tests/property/test_feasibility.py"
PAID = "tests/promises/test_paid_releases.py"
REFUSALS = "tests/unit/release/test_refusals.py"
RELEASES = (REFUSALS, PROMISES, PRIVATIZER, BAD_CALLS, CHOSEN, FEASIBILITY)

FAULTS = (
    *in_file(
        "dp_cmdp/release/entries.py",
        RELEASES,
        Fault(
            "release-unclipped-estimate",
            "the published estimate lies in the public bounds",
            "estimate=np.clip(cut.estimate, envelope.lower, envelope.upper),",
            "estimate=cut.estimate,",
        ),
        Fault(
            "release-unclipped-intervals",
            "released intervals lie in the public bounds",
            "cut = plan.draw(values).clipped(envelope.lower, envelope.upper)",
            "cut = plan.draw(values)",
        ),
        Fault(
            "simulation-called-secure",
            "a release with noise from a seed says so",
            "secure=rng is None,",
            "secure=True,",
        ),
        Fault(
            "database-read-before-debit",
            "the budget is debited before any value is read",
            'debit = debited(ledger, database, budget, note="release_database")',
            'plan.draw(database.values); debit = debited(ledger, database, budget, note="release_database")',
        ),
        Fault(
            "release-without-debit",
            "a release with a ledger is debited",
            'debit = debited(ledger, database, budget, note="release_database")',
            "debit = None",
        ),
        Fault(
            "optimal-noise-for-records",
            "optimal noise is refused where a record has several entries",
            "if envelope.record_size > 1:",
            "if envelope.record_size > 2:",
        ),
        Fault(
            "close-end-swapped",
            "optimal noise keeps the end close that the caller chose",
            'high[envelope.index(name)] = side == "upper"',
            'high[envelope.index(name)] = side == "lower"',
        ),
    ),
    *in_file(
        "dp_cmdp/release/blocks.py",
        RELEASES,
        Fault(
            "block-simulation-called-secure",
            "a release with noise from a seed says so",
            "secure=rng is None,",
            "secure=True,",
        ),
        Fault(
            "leaks-unrecorded",
            "a block release names what it left unprotected",
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
            "cut = drawn.widened(block_rounding(program, block)).clipped(",
            "cut = drawn.clipped(",
        ),
        Fault(
            "blocks-read-before-debit",
            "the budget is debited before any value is read",
            'debit = debited(ledger, database, budget, note="release_blocks")',
            'values = entry_values(program, database.values); debit = debited(ledger, database, budget, note="release_blocks")',
        ),
        Fault(
            "foreign-program-accepted",
            "a block release belongs to one program and one database",
            "program.check_owns(database)",
            "assert program.envelope.num_entries == database.envelope.num_entries",
        ),
    ),
    *in_file(
        "dp_cmdp/release/debit.py",
        RELEASES,
        Fault(
            "debit-half",
            "the debit is the whole budget of the release",
            "entry = ledger.debit(database.identity, budget, note=note, adjacency=adjacency)",
            "entry = ledger.debit(database.identity, PrivacyBudget(budget.epsilon / 2, budget.delta), note=note, adjacency=adjacency)",
        ),
        Fault(
            "ledger-without-identity",
            "a ledger needs to know whose budget is spent",
            "if ledger is not None and database.identity is None:",
            "if ledger is not None and database.identity is None and rng is not None:",
        ),
    ),
    *in_file(
        "dp_cmdp/release/solve.py",
        RELEASES,
        Fault(
            "foreign-release-solved",
            "a release that leaves the program's bounds is refused",
            "release.check_fits(target.envelope)",
            "pass",
        ),
        Fault(
            "certificate-over-the-estimate",
            "the certificate of a private answer covers the whole released box",
            "uncertain = program.polytope_rows(polytope)",
            "uncertain = program.polytope_rows(Polytope(*[(polytope.lower + polytope.upper) / 2] * 2, W=polytope.W, q=polytope.q))",
        ),
        Fault(
            "robust-over-the-estimate",
            "a private answer is feasible for everything the release allows",
            "return solve_over(target, release.polytope, estimate=objective_estimate(target, release))",
            "return solve_over(target, Polytope(release.estimate, release.estimate), estimate=release.estimate)",
        ),
    ),
    *in_file(
        "dp_cmdp/data/release_file.py",
        (REFUSALS, PROMISES, DATABASE, "tests/unit/release/test_boundary.py"),
        Fault(
            "release-file-forgets-leaks",
            "what was left unprotected is still named when a release is read back",
            '"leaks": tuple(facts["leaks"]),',
            '"leaks": (),',
        ),
        Fault(
            "release-file-always-secure",
            "a simulation is still marked when a release is read back",
            '"secure": facts["secure"],',
            '"secure": True,',
        ),
    ),
    *in_file(
        "dp_cmdp/data/guarantee.py",
        (REFUSALS, PROMISES, DATABASE, "tests/unit/release/test_boundary.py"),
        Fault(
            "guarantee-negative-epsilon",
            "a guarantee of negative ε is refused",
            "if self.epsilon < 0:",
            "if self.epsilon < -1:",
        ),
    ),
    *in_file(
        "dp_cmdp/data/release.py",
        (REFUSALS, PROMISES, DATABASE, "tests/unit/release/test_boundary.py"),
        Fault(
            "release-crossed-ends",
            "a release whose intervals are empty is refused",
            "if (self.lower > self.upper).any():",
            "if (self.lower > self.upper).all():",
        ),
        Fault(
            "release-file-believed",
            "a release file is verified when it is read",
            "check_claims(release)",
            "pass",
        ),
        Fault(
            "release-repr-hides-leaks",
            "what was left unprotected is shown",
            'leak = f", LEAKS {\', \'.join(self.leaks)}" if self.leaks else ""',
            'leak = ""',
            tests=(PRIVATIZER,),
        ),
    ),
    *in_file(
        "dp_cmdp/release/paid.py",
        (PAID,),
        Fault(
            "interrupt-carries-nothing",
            "whatever is raised after a debit carries the release, Control-C too",
            "except BaseException as error:",
            "except Exception as error:",
        ),
        Fault(
            "noise-interrupted",
            "Control-C waits until the noise is drawn",
            "signal.signal(signal.SIGINT, lambda *what: pressed.append(what))",
            "pass",
        ),
    ),
    *in_file(
        "dp_cmdp/cli/spending.py",
        (PAID,),
        Fault(
            "paid-release-written-over",
            "a release that was paid for is never written over",
            "paid = Release.load(path).ledger is not None",
            "paid = False",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/lp_neutral.py",
        ("tests/promises/test_reading.py",),
        Fault(
            "lp-private-numbers-shown-to-highs",
            "private numbers of a model file are looked at after the debit",
            'new = "0" if kept else _NEUTRAL[spot.kind]',
            "new = text",
        ),
    ),
)
