"""Faults in totals: bounds on sums, what records move, looks, counterparts over facts."""

# ruff: noqa: E501  (lines of the package are quoted as they stand, under more indentation)

from tests.mutants.fault import Fault, in_file

TOTALS = "tests/unit/release/test_totals.py"
FILES = "tests/unit/verification/test_totals.py"
POLYTOPES = "tests/property/test_polytopes.py"
COUNTED = "tests/unit/audit/test_looks_enumerated.py"

FAULTS = (
    *in_file(
        "dp_cmdp/data/totals.py",
        (TOTALS, FILES),
        Fault(
            "total-bound-without-support",
            "the bound on a total holds whatever its noise was",
            "Fraction(h) * (int(n) + support + int(v))",
            "Fraction(h) * (int(n) + int(v))",
        ),
        Fault(
            "total-bound-without-cells",
            "the bound on a total holds wherever in their cells entries are",
            "Fraction(h) * (int(n) + support + int(v))",
            "Fraction(h) * (int(n) + support)",
        ),
        Fault(
            "total-bound-rounded-to-nearest",
            "the bound on a total is rounded up",
            "limits = np.array([rounded_up(limit) for limit in room])",
            "limits = np.array([float(limit) for limit in room])",
        ),
        Fault(
            "negative-counts-lower-the-bound",
            "an entry of negative weight is at the low end of its cell at worst",
            "np.add.at(above, row, np.maximum(V.data, 0.0))",
            "np.add.at(above, row, V.data)",
        ),
        Fault(
            "long-steps-accepted",
            "weights are counts times step over grid, without rounding",
            "if (steps <= 0).any() or (short_steps(steps) != steps).any():",
            "if (steps <= 0).any():",
        ),
    ),
    *in_file(
        "dp_cmdp/release/totals.py",
        (TOTALS, FILES, COUNTED),
        Fault(
            "total-moves-rounded-down",
            "a radius that is no whole number of cells is rounded up",
            "far = [math.ceil(Fraction(r) / Fraction(g)) for r, g in _pairs(envelope.radius, grid)]",
            "far = [math.floor(Fraction(r) / Fraction(g)) for r, g in _pairs(envelope.radius, grid)]",
        ),
        Fault(
            "record-moves-its-last-entry",
            "the entries of a record move a total together",
            "moved[record, row] = moved.get((record, row), 0) + steps",
            "moved[record, row] = steps",
        ),
        Fault(
            "record-pays-for-one-total",
            "a record pays for all the totals that it moves",
            "whole[record] = whole.get(record, 0) + steps",
            "whole[record] = max(whole.get(record, 0), steps)",
        ),
        Fault(
            "every-entry-its-own-record",
            "the entries of a record change together",
            "record = int(envelope.records[entry])",
            "record = int(entry)",
        ),
        Fault(
            "weights-rounded-to-nearest",
            "weights are rounded towards 0: no total weighs more than was asked",
            "counts = np.trunc(weights.data * grid[weights.indices] / step[row])",
            "counts = np.rint(weights.data * grid[weights.indices] / step[row])",
        ),
        Fault(
            "totals-share-a-noise",
            "every total gets a noise of its own",
            "drawn = self.noise.sample(self.step.size, source=source)",
            "drawn = np.repeat(self.noise.sample(1, source=source), self.step.size)",
        ),
        Fault(
            "totals-noise-from-a-seed",
            "without a generator the noise is that of the operating system",
            "source = os.urandom if rng is None else rng.bytes",
            "source = np.random.default_rng(0).bytes if rng is None else rng.bytes",
        ),
        Fault(
            "totals-without-noise",
            "totals are published with noise",
            "np.array([n + int(z) for n, z in zip(index, drawn, strict=True)], dtype=np.int64),",
            "np.array([n + 0 * int(z) for n, z in zip(index, drawn, strict=True)], dtype=np.int64),",
        ),
        Fault(
            "totals-twice-the-epsilon",
            "the noise of totals is calibrated to their share of the budget",
            "budget.epsilon, budget.delta, steps=largest, entries=Fraction(total, largest)",
            "2 * budget.epsilon, budget.delta, steps=largest, entries=Fraction(total, largest)",
        ),
        Fault(
            "totals-noise-for-one-total",
            "the noise of totals is calibrated to all that a record moves",
            "budget.epsilon, budget.delta, steps=largest, entries=Fraction(total, largest)",
            "budget.epsilon, budget.delta, steps=largest, entries=1",
        ),
        Fault(
            "grid-of-nothing",
            "data next to 0 are refused by name",
            "if (grid == 0.0).any():",
            "if (grid < 0.0).any():",
        ),
    ),
    *in_file(
        "dp_cmdp/release/looks.py",
        (FILES,),
        Fault(
            "debit-of-one-look",
            "the whole budget is debited",
            'debit = debited(ledger, database, budget, note=f"release_looks {plan}")',
            'debit = debited(ledger, database, second or budget, note=f"release_looks {plan}")',
        ),
        Fault(
            "looks-read-before-debit",
            "the budget is debited before any value is read",
            'debit = debited(ledger, database, budget, note=f"release_looks {plan}")',
            'values = database.values; debit = debited(ledger, database, budget, note=f"release_looks {plan}")',
        ),
        Fault(
            "looks-refused-late",
            "what can be refused is refused before the debit",
            "noise = _planned_early("
            "envelope, first, second, calibration=calibration, close=ends, rng=rng)",
            "noise = first and plan_database("
            "envelope, first, calibration=calibration, close=ends, rng=rng)",
        ),
        Fault(
            "proposal-reads-the-data",
            "what is measured depends on what was published only",
            "look = second and plan_look(program, seen, second, plan=plan, solver=solver)",
            "look = second and plan_look(program, replace(seen, draws=database.values), second, plan=plan, solver=solver)",
        ),
        Fault(
            "simulated-looks-called-secure",
            "only noise of the operating system is called secure",
            "release = replace(seen, secure=rng is None, ledger=debit, plan=plan.facts())",
            "release = replace(seen, secure=True, ledger=debit, plan=plan.facts())",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/private_policy.py",
        ("tests/unit/cmdp/test_facts_synthesis.py",),
        Fault(
            "robust-policy-from-a-pool",
            "what is published depends on no pool of the caller's",
            "robust = robust_policy(model)",
            "robust = robust_policy(model, pool=pool)",
        ),
    ),
    *in_file(
        "dp_cmdp/release/measure.py",
        (FILES, "tests/unit/release/test_measure.py"),
        Fault(
            "guarantee-of-one-look",
            "the guarantee of a release in looks is that of all looks together",
            "spent.epsilon + noise.epsilon, spent.delta + noise.delta, spent.record_size",
            "noise.epsilon, noise.delta, spent.record_size",
        ),
        Fault(
            "totals-read-before-debit",
            "the budget is debited before any value is read",
            'debit = debited(ledger, database, budget, note="measure_totals")',
            'values = database.values; debit = debited(ledger, database, budget, note="measure_totals")',
        ),
        Fault(
            "facts-of-two-envelopes",
            "facts of databases with other bounds are not combined",
            "if seen.envelope != found.envelope:",
            "if seen.envelope is None:",
        ),
        Fault(
            "secure-beside-a-simulation",
            "a release is secure when all of its looks are",
            "secure=seen.secure and found.secure,",
            "secure=seen.secure,",
        ),
    ),
    *in_file(
        "dp_cmdp/release/plan.py",
        (FILES,),
        Fault(
            "looks-spend-too-much",
            "what two looks spend adds up to the budget",
            "for part in (self.share, 1 - self.share)",
            "for part in (self.share, 1)",
        ),
    ),
    *in_file(
        "dp_cmdp/program/polytope_rows.py",
        (POLYTOPES,),
        Fault(
            "links-missing",
            "a row is linked with all facts that it can use",
            'count = np.searchsorted(of_fact[order], met[1], side="right") - first',
            'count = np.minimum(np.searchsorted(of_fact[order], met[1], side="right") - first, 1)',
        ),
        Fault(
            "price-without-low",
            "a fact is worth its limit less what the lower ends already use",
            "price = self._q[self.links.fact] - self.pull.T @ low",
            "price = self._q[self.links.fact]",
        ),
        Fault(
            "multipliers-add-weight",
            "a multiplier takes weight over from its row",
            "-self.pull,",
            "self.pull,",
        ),
        Fault(
            "certificate-adds-weight",
            "a certificate counts what multipliers take over",
            "np.concatenate([factors[0][kept], -pull.data]),",
            "np.concatenate([factors[0][kept], pull.data]),",
        ),
        Fault(
            "certificate-at-the-wrong-end",
            "what facts leave of a weight meets the worst end of its entry",
            "end = np.where(z > 0, self._meeting_high, self._meeting_low)",
            "end = np.where(z > 0, self._meeting_low, self._meeting_high)",
        ),
        Fault(
            "certificate-without-limits",
            "a certificate pays for the facts it uses",
            "np.concatenate([terms[0], pull.data, -self._q[self.links.fact]]),",
            "np.concatenate([terms[0], pull.data, 0 * self._q[self.links.fact]]),",
        ),
        Fault(
            "contradictions-accepted",
            "facts that no database satisfies are refused",
            "if polytope.is_box:",
            "if polytope.num_entries:",
        ),
        Fault(
            "interval-of-a-pair-ignored",
            "a pair of row and entry keeps the interval it was given",
            "self._meeting_high[self._met] = self._high[self._pair]",
            "self._meeting_high[self._met] = polytope.upper[self.meeting_entry[self._met]]",
        ),
    ),
    *in_file(
        "dp_cmdp/program/parametric.py",
        (POLYTOPES,),
        Fault(
            "negative-multipliers-believed",
            "multipliers that prove a row are not negative",
            "if (factors < 0.0).any():",
            "if (factors < -1.0).any():",
        ),
        Fault(
            "verified-without-public-rows",
            "public rows are verified too",
            "return np.concatenate([sensitive, inequality_slack(self.A_ub, self.b_ub, x=point)])",
            "return sensitive",
            within="def certain_slack(",
            tests=(
                "tests/unit/verification/test_forged_claims.py",
                "tests/unit/verification/test_solutions.py",
            ),
        ),
        Fault(
            "multipliers-without-floor",
            "multipliers in a counterpart are not negative",
            "floor[aux - rows.num_positive :] = 0.0",
            "floor[aux - rows.num_positive :] = -1.0",
        ),
    ),
    *in_file(
        "dp_cmdp/release/solve.py",
        (FILES,),
        Fault(
            "answer-ignores-totals",
            "an answer uses all that a release says",
            "return solve_over(target, release.polytope, estimate=objective_estimate(target, release))",
            "return solve_over(target, Polytope(release.lower, release.upper), estimate=objective_estimate(target, release))",
        ),
        Fault(
            "answers-public-rows-uncertified",
            "public rows are certified too",
            "return np.concatenate([sensitive, tight_slack(program.A_ub, program.b_ub, x=x[:n])])",
            "return sensitive",
            tests=(
                "tests/unit/verification/test_solutions.py",
                "tests/property/test_feasibility.py",
            ),
        ),
        Fault(
            "multipliers-not-kept",
            "an answer carries the multipliers that prove it",
            "multipliers=_check.frozen(np.maximum(solution.x[solution.x.size - count :], 0.0)),",
            "multipliers=np.zeros(count),",
        ),
    ),
    *in_file(
        "dp_cmdp/audit/layers/worst_totals.py",
        ("tests/unit/audit/layers/test_worst_totals.py",),
        Fault(
            "audit-moves-one-entry-of-a-record",
            "the audit moves all entries of a record",
            "ends[:, entry] = pairs[entry][::sign]",
            "ends[:, own[0]] = pairs[own[0]][::sign]",
        ),
    ),
    *in_file(
        "dp_cmdp/verification/totals.py",
        (FILES,),
        Fault(
            "totals-certified-for-others",
            "the certificate of totals is for what records move, exactly",
            "largest == proof.steps and whole == proof.steps * proof.entries,",
            "largest <= proof.steps and whole <= proof.steps * proof.entries,",
        ),
        Fault(
            "totals-support-believed",
            "bounds on totals use the support of their noise",
            'refuse_unless(totals.support == proof.support, "totals: their support is not their noise\'s")',
            'refuse_unless(totals.support >= 0, "totals: their support is not their noise\'s")',
        ),
        Fault(
            "totals-of-no-database",
            "a total is what some database of the envelope gives",
            "sum(map(min, ends)) - totals.support <= index <= sum(map(max, ends)) + totals.support,",
            "sum(map(min, ends)) - totals.support <= index,",
        ),
        Fault(
            "contradictory-totals-read",
            "facts that no database satisfies are refused when they are read",
            "check_consistent(release.polytope)",
            "pass",
        ),
        Fault(
            "shares-of-a-plan-believed",
            "looks spend the shares that the plan says",
            "or all(a * (1 - share) == b * share for a, b in zip(entries, totals, strict=True))",
            "or all(a * (1 - share) >= 0 * b for a, b in zip(entries, totals, strict=True))",
        ),
    ),
)
