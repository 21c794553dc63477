"""The faults: promise (docs/promise.md), place, expression, what stands there instead, tests."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """`place` is module:function below dp_cmdp/_src; `tests` are paths below tests/."""

    promise: str
    place: str
    old: str
    new: str
    tests: str


LAWS, SAMPLING = "kernel/test_laws.py", "kernel/test_sampling.py"
COUNTS, MEASURED = "kernel/test_sensitivity.py", "kernel/test_measurement.py"
ENUMERATED = "kernel/test_enumerated_privacy.py"
PUBLISHED, LEDGER = "release/test_publish.py", "accounting/test_ledger.py"
CHECKED = "checking/test_counts.py checking/test_forged_releases.py"
EXACT = "cmdp/test_certificate.py cmdp/test_certify.py cmdp/test_answer.py"
SHIELD = "cmdp/test_shield.py"

NOISE = "the noise is private"
DRAWN = "the sampler draws that law"
LATTICE = "rounding to the lattice adds no sensitivity"
MOVED = "no record moves further than is certified"
TRUE = "intervals and inequalities contain the truth"
FEASIBLE = "answers are feasible for the true data"
FIRST = "what cannot be answered is refused before the debit"
DEBIT = "the budget is debited before data is read, and never refunded"
CARRIED = "what was paid for is not lost"
SPENT = "the budget cannot be overspent"
SAME = "releases of one account protect the same change"
CHAIN = "tampering with the ledger is seen"
PROVED = "a file claims only what it proves"
HARMLESS = "a file does no harm"
SHOWN = "nothing public reaches a private value"
SAID = "what is said is what is"
READ = "tables are read by label"
TRAINED = "a learner under a shield keeps its limits in expectation, while it trains"
MODEL = "a model of an environment is what it does"

FAULTS = (
    Fault(NOISE, "noise.laws:outer_mass", "support + 1 - largest", "support + 2 - largest", LAWS),
    Fault(NOISE, "noise.laws:outer_mass", "outer * l1", "outer * largest", LAWS),
    Fault(NOISE, "noise.laws:Laplace.delta", "epsilon / l1", "epsilon / largest", LAWS),
    Fault(NOISE, "noise.laws:narrowest_laplace", "epsilon / l1", "epsilon / largest", LAWS),
    Fault(NOISE, "noise.unbounded:UnboundedLaplace.delta", "epsilon / sensitivity.l1", "epsilon",
          LAWS),
    Fault(NOISE, "noise.laws:exp_lower", "Fraction(total, ", "Fraction(total + total, ", LAWS),
    Fault(NOISE, "noise.laws:digit_thresholds", "-(-ONE * part // whole)", "ONE * part // whole",
          LAWS),
    Fault(NOISE, "noise.laws:steps_hold", "up > down or ", "", LAWS),
    Fault(NOISE, "noise.one_sided:OneSided.delta", "-(-sensitivity.largest // self.cell)",
          "sensitivity.largest // self.cell", LAWS),
    Fault(NOISE, "noise.one_sided:OneSided.delta", "count > 1", "count > 2", LAWS),
    Fault(NOISE, "release.measurement:Measurement.__init__", "epsilon) <= budget.delta",
          "epsilon) <= 2 * budget.delta", f"{ENUMERATED} {MEASURED}"),
    Fault(DRAWN, "noise.laws:toss", "words < head", "words > head", SAMPLING),
    Fault(DRAWN, "noise.laws:toss", "< tail", "<= tail", SAMPLING),
    Fault(DRAWN, "noise.laws:draw_signs", "magnitude == 0", "magnitude < 0", SAMPLING),
    Fault(DRAWN, "noise.laws:random_bytes", "len(found) != count", "False", SAMPLING),
    Fault(DRAWN, "noise.laws:Laplace.sample", "magnitude <= self.support",
          "magnitude < self.support", SAMPLING),
    Fault(DRAWN, "release.measurement:Measurement.draw",
          "map(add, self.query.true_integers(values), noise)", "self.query.true_integers(values)",
          MEASURED),
    Fault(DRAWN, "release.measurement:Measurement.draw", "not fits", "False", MEASURED),
    Fault(LATTICE, "data.envelope:Envelope.moves", "np.ceil(", "np.floor(", "data/test_lattice.py"),
    Fault(LATTICE, "data.envelope:whole_range", "error > 0.0", "error > np.inf",
          "data/test_envelope.py"),
    Fault(LATTICE, "data.envelope:Envelope._cells", "-1.0", "0.0", "data/test_lattice.py"),
    Fault(MOVED, "release.measurement:Query.sensitivity", "np.add.reduceat(moved, start).max()",
          "moved.max()", COUNTS),
    Fault(MOVED, "release.measurement:Query.sensitivity", "np.add.reduceat(amount, first)",
          "np.maximum.reduceat(amount, first)", COUNTS),
    Fault(MOVED, "release.measurement:Query._few_entries",
          "worst([sums[k] * t for k, t in entries])",
          "max([sums[k] * t for k, t in entries], default=0)", COUNTS),
    Fault(MOVED, "release.measurement:Query.sensitivity", "self._few_entries(limit, whole)",
          "self._few_entries(max(limit - 1, 1), whole)", COUNTS),
    Fault(MOVED, "program.entrywise:_Map.changed_at_once", "largest(record, counts, most)",
          "largest(record, counts, 1)", "program/test_entrywise.py"),
    Fault(MOVED, "program.entrywise:_Map.change", "[self.rounding[number]] * 2",
          "[0.0 * self.rounding[number]] * 2", "program/test_entrywise.py"),
    Fault(TRUE, "release.measurement:_bounded", "most // w + 1", "most // w", MEASURED),
    Fault(TRUE, "release.measurement:_bounded", "float_above if up[i] else float_below",
          "float_below if up[i] else float_above", MEASURED),
    Fault(TRUE, "release.measurement:_row_bounds", "most + above", "most", MEASURED),
    Fault(TRUE, "release.measurement:LargestQuery._ranges",
          " + np.array(self.centres, dtype=object)", "", MEASURED),
    Fault(TRUE, "base.exact:float_above", "Fraction(nearest) >= value", "True",
          "base/test_exact.py"),
    Fault(FEASIBLE, "base.exact:row_sums_up", "> 0", "> 1", "base/test_exact.py"),
    Fault(FEASIBLE, "base.exact:tight_sums", "sums = plain - error", "sums = plain + error",
          "base/test_exact.py program/test_certified.py"),
    Fault(FEASIBLE, "program.rows:RobustRows.__init__", "(sign > 0) & ~linked",
          "(sign < 0) & ~linked", "program/test_answers.py"),
    Fault(FEASIBLE, "program.rows:RobustRows.slack", "z > 0", "z < 0", "program/test_answers.py"),
    Fault(FEASIBLE, "program.rows:RobustRows.links_of", "np.maximum(found, 0.0)", "found",
          "program/test_answers.py checking/test_forged_answers.py"),
    Fault(FEASIBLE, "program.certified:Point.feasible", ">= 0.0", ">= -1e-09",
          "program/test_certified.py"),
    Fault(FEASIBLE, "program.certified:solve_certified", "if not point.feasible", "if False",
          "program/test_certified.py"),
    Fault(FEASIBLE, "program.certified:solve_certified", "point.worst_eq > EQUALITY_TOLERANCE",
          "False", "program/test_certified.py"),
    Fault(FEASIBLE, "cmdp.cost_bounds:_residual", "up(value + error)", "value", EXACT),
    Fault(FEASIBLE, "cmdp.certificate:_worst_corner", "np.where(sign > 0, rows.high, rows.low)",
          "np.where(sign < 0, rows.high, rows.low)", EXACT),
    Fault(FEASIBLE, "cmdp.certificate:corner", "exact.row_sums_up(", "-exact.row_sums_up(", EXACT),
    Fault(TRAINED, "cmdp.shield:Guard.allowed", ">= 0.0", ">= -0.01", SHIELD),
    Fault(TRAINED, "cmdp.shield:Guard.after", "action is None", "action is None or action", SHIELD),
    Fault(TRAINED, "cmdp.shield:Polytope._bound", "fixed - lam @ self.q", "fixed + lam @ self.q",
          SHIELD),
    Fault(FEASIBLE, "cmdp.costs:_fixed", "return exact", "return 0 * exact",
          "cmdp/test_costs.py"),
    Fault(FIRST, "verbs.spend:robust_answer", "asked.refuse_if_unanswerable()", "pass",
          f"{PUBLISHED} face"),
    Fault(FIRST, "verbs.spend:_chosen", "warnings.warn(USELESS, PrivacyWarning, stacklevel=4)",
          "pass", "promises/test_whole_range.py"),
    Fault(FIRST, "data.database:Database._of", "data.envelope != envelope", "False", PUBLISHED),
    Fault(DEBIT, "release.publish:publish", "database.ledger is not None", "False", PUBLISHED),
    Fault(DEBIT, "release.publish:publish", "ledger.debit(budget,",
          "ledger.debit(strategy.steps[0].part(budget),", PUBLISHED),
    Fault(DEBIT, "release.publish:publish", "raise InvalidArgumentError(", "str(", PUBLISHED),
    Fault(DEBIT, "release.publish:attempted", "not measurement.budget.fits(part)", "False",
          PUBLISHED),
    Fault(CARRIED, "release.publish:carrying", "error.release = release()", "pass", PUBLISHED),
    Fault(CARRIED, "release.publish:carrying", "except BaseException", "except Exception",
          PUBLISHED),
    Fault(CARRIED, "release.publish:_uninterrupted", "usual(*pressed[0])", "pass",
          "promises/test_paid_releases.py"),
    Fault(SPENT, "accounting.ledger:PrivacyLedger.debit", "not requested.fits(remaining)", "False",
          LEDGER),
    Fault(SPENT, "accounting.budget:PrivacyBudget.fits", "epsilon and self", "epsilon or self",
          f"accounting/test_budget.py {LEDGER}"),
    Fault(SPENT, "accounting.ledger_file:_only_name", "names > 1", "names > 2",
          "accounting/test_lock.py"),
    Fault(SPENT, "accounting.ledger_file:write",
          "_read_back(path, entry, timeout_seconds=timeout_seconds)", "pass",
          "accounting/test_lock.py"),
    Fault(SPENT, "accounting.hashchain:_post", "spent.fits(old.total)", "True", LEDGER),
    Fault(SAME, "accounting.ledger:PrivacyLedger.debit",
          "stated(protected, before)", "''", "promises/test_units.py"),
    Fault(SAME, "accounting.ledger:PrivacyLedger._create", "known.unit != unit", "False",
          "promises/test_units.py"),
    Fault(CHAIN, "accounting.ledger_file:load", "count != found", "False", LEDGER),
    Fault(CHAIN, "accounting.hashchain:_entry", "link(previous, row[:-1]) == stored", "True",
          LEDGER),
    Fault(CHAIN, "accounting.hashchain:Chain.check_contains",
          "self.entries[pinned.count - 1].hash == pinned.hash", "True", LEDGER),
    Fault(PROVED, "checking.verify.adjacency:Adjacency.sensitivity", "abs(weight) * far",
          "abs(weight)", CHECKED),
    Fault(PROVED, "checking.verify.adjacency:Adjacency.moves", "ceil(Fraction(far) / step)",
          "int(Fraction(far) / step)", CHECKED),
    Fault(PROVED, "checking.verify.adjacency:Adjacency.difference", "ours != theirs", "False",
          CHECKED),
    Fault(PROVED, "checking.verify.releases:Outcome.check_possible",
          "least + law.low <= y <= most + law.high", "True", CHECKED),
    Fault(PROVED, "checking.verify.known:Known.bound", "(most // weight + 1)", "(most // weight)",
          f"{CHECKED} checking/test_forged_answers.py"),
    Fault(PROVED, "checking.report:Report.__bool__", "False not in judged", "True",
          "checking/test_reports.py"),
    Fault(PROVED, "checking.verify.releases:ReleaseFile._shared",
          "spent[0] <= part[0] and spent[1] <= part[1]", "True",
          "checking/test_forged_releases.py"),
    Fault(PROVED, "release.release:Release.from_document", "is_empty(made.uncertainty)", "False",
          "kernel/test_release.py"),
    Fault(PROVED, "program.answer:Answer._proved",
          "certificate.verified != said['certificate']['verified']", "False",
          "program/test_answers.py"),
    Fault(HARMLESS, "base.documents:_too_large", "return", "return False and",
          "base/test_documents.py"),
    Fault(SHOWN, "data.database:Database.__repr__", "<private>", "{self._source!r}",
          "data/test_database.py"),
    Fault(SHOWN, "data.database:Database._found", "flat <= self.envelope.upper", "flat <= flat",
          "data/test_database.py"),
    Fault(SHOWN, "frontends.cvxpy.parameter:PrivateParameter.save_value", "val is not None",
          "False", "frontends/test_cvxpy_refusals.py"),
    Fault(SHOWN, "frontends.gymnasium.released:Following.__init__", "'curator'", "'nobody'",
          "frontends/test_released.py"),
    Fault(SAID, "release.release:Release.guarantee", "if self.simulated", "if False",
          "promises/test_what_is_said.py"),
    Fault(SAID, "release.release:Release.__and__", "self.envelope != other.envelope", "False",
          "kernel/test_release.py"),
    Fault(SAID, "release.publish:answered", "gain > ROUNDING * size",
          "True", "promises/test_whole_range.py"),
    Fault(READ, "data.private_tables:cells_of", "rows.to_numpy()[place]", "rows.to_numpy()",
          "data/test_frames.py"),
    Fault(READ, "data.database:_flat", "any((group.labels for group in groups))", "False",
          "data/test_database.py"),
    Fault(MODEL, "frontends.gymnasium.load:load", "_refuse_negative(model)", "pass",
          "frontends/test_agreement.py"),
    Fault(MODEL, "cmdp.model:_transitions", "off[worst] > ROW_SUM_TOLERANCE", "False",
          "cmdp/test_model.py"),
)  # fmt: skip
