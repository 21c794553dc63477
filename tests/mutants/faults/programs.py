"""Faults in programs: robust counterparts, exact slacks, certified solves, assumptions."""

from tests.mutants.fault import Fault, in_file

PROMISES = "tests/unit/program/test_promises.py"
PARAMETRIC = "tests/unit/program/test_parametric.py"
CERTIFIED = "tests/unit/program/test_certified.py"
RELEASES = "tests/unit/release/test_promises.py"
LP = "tests/unit/program/test_linear_program.py"
EXACT = "tests/unit/test_exact.py"
FEASIBILITY = "tests/property/test_feasibility.py"
PRIVATIZER = "tests/unit/release/test_privatizer.py"
METRICS = "tests/unit/test_metrics.py"

FAULTS = (
    *in_file(
        "dp_cmdp/program/counterpart.py",
        (PROMISES, PARAMETRIC, PRIVATIZER, FEASIBILITY),
        Fault(
            "counterpart-at-the-wrong-end",
            "a robust row holds at the worst end of every entry",
            "return np.where(w_min >= 0, high, low), (w_min < 0) & (w_max > 0) & (low < high)",
            "return np.where(w_min >= 0, low, high), (w_min < 0) & (w_max > 0) & (low < high)",
        ),
        Fault(
            "counterpart-at-the-upper-end",
            "an entry that relaxes a row is taken at its lower end",
            "return np.where(w_min >= 0, high, low), (w_min < 0) & (w_max > 0) & (low < high)",
            "return high, (w_min < 0) & (w_max > 0) & (low < high)",
        ),
        Fault(
            "counterpart-sign-decided-too-early",
            "where the worst end depends on x, both ends are asked for",
            "return np.where(w_min >= 0, high, low), (w_min < 0) & (w_max > 0) & (low < high)",
            "return np.where(w_max >= 0, high, low), (w_min < 0) & (w_max < 0) & (low < high)",
        ),
        Fault(
            "counterpart-forgets-the-right-hand-side",
            "an entry on both sides of a row is optimised jointly",
            "return w_min - h, w_max - h",
            "return w_min, w_max",
        ),
        Fault(
            "epigraph-one-end",
            "an auxiliary variable stands above both ends",
            "ends = low[pairs], high[pairs]",
            "ends = high[pairs], high[pairs]",
        ),
        Fault(
            "epigraph-forgets-the-right-hand-side",
            "an auxiliary variable counts the right-hand side's share of its entry",
            'return sparse.vstack(rows, format="csr"), np.concatenate([h for _, h in parts])',
            'return sparse.vstack(rows, format="csr"), np.concatenate([0 * h for _, h in parts])',
        ),
        Fault(
            "slack-at-the-best-end",
            "the exact slack is the smallest over the box",
            "theta = np.where(self.weight_signs(x) > 0, high[self.entry], low[self.entry])",
            "theta = np.where(self.weight_signs(x) > 0, low[self.entry], high[self.entry])",
        ),
        Fault(
            "slack-at-zero-weight",
            "the exact slack is the smallest over the box",
            "theta = np.where(self.weight_signs(x) > 0, high[self.entry], low[self.entry])",
            "theta = np.where(self.weight_signs(x) >= 0, high[self.entry], low[self.entry])",
            "an entry of weight exactly 0 adds 0·θ to its row, whatever end θ takes",
        ),
    ),
    *in_file(
        "dp_cmdp/program/parametric.py",
        (PROMISES, PARAMETRIC, PRIVATIZER, FEASIBILITY),
        Fault(
            "slack-of-public-rows-forgotten",
            "public rows are certified too",
            "return np.concatenate([sensitive, inequality_slack(self.A_ub, self.b_ub, x=point)])",
            "return sensitive",
            within="def worst_case_slack(",
        ),
        Fault(
            "auxiliary-rows-forgotten",
            "the counterpart holds the rows that define its auxiliary variables",
            'sparse.vstack([rows.A, _widen(self.A_ub, aux), rows.A_aux], format="csr"),',
            'sparse.vstack([rows.A, _widen(self.A_ub, aux), 0 * rows.A_aux], format="csr"),',
        ),
        Fault(
            "auxiliary-variables-non-negative",
            "auxiliary variables may be negative",
            "floor = np.full(aux, -np.inf)",
            "floor = np.zeros(aux)",
        ),
        Fault(
            "entry-out-of-range-read",
            "a program reads entries that its envelope has",
            "if part.entry.size and part.entry.max() >= envelope.num_entries:",
            "if part.entry.size and part.entry.max() > envelope.num_entries:",
        ),
    ),
    *in_file(
        "dp_cmdp/program/certified.py",
        ("tests/unit/release/test_refusals.py", CERTIFIED, LP, RELEASES),
        Fault(
            "slack-sign-ignored",
            "a certified point satisfies every row in exact arithmetic",
            "return bool((self.slack[: self.checked] >= 0.0).all())",
            "return bool((abs(self.slack[: self.checked]) >= 0.0).all())",
        ),
        Fault(
            "slack-tolerance",
            "no tolerance enters a certificate",
            "return bool((self.slack[: self.checked] >= 0.0).all())",
            "return bool((self.slack[: self.checked] >= -1e-9).all())",
        ),
        Fault(
            "binding-rows-refused",
            "a row met exactly is met",
            "return bool((self.slack[: self.checked] >= 0.0).all())",
            "return bool((self.slack[: self.checked] > 0.0).all())",
        ),
        Fault(
            "rows-unchecked",
            "every leading row is checked",
            "checked=leading.size,",
            "checked=0,",
        ),
        Fault(
            "worst-slack-absolute",
            "a certificate names the smallest slack",
            "worst_slack=float(point.slack[: point.checked].min(initial=np.inf)),",
            "worst_slack=float(abs(point.slack[: point.checked]).max(initial=0.0)),",
        ),
        Fault(
            "infeasible-point-certified",
            "a point that misses its rows is no answer",
            "if not point.feasible:",
            "if point.checked < 0:",
            within="def solve_certified(",
        ),
        Fault(
            "centre-unchecked",
            "rows without room are refused",
            "if not centre.feasible:",
            "if centre.checked < 0:",
        ),
        Fault(
            "bounds-not-clipped",
            "a certified point keeps its bounds exactly",
            "x = np.clip(raw.x, lp.lower, lp.upper)",
            "x = raw.x",
        ),
        Fault(
            "equalities-unchecked",
            "equality rows hold to the tolerance that the certificate names",
            "if point.worst_eq > EQUALITY_TOLERANCE:",
            "if point.worst_eq > 1e6:",
        ),
        Fault(
            "equality-residual-underflows",
            "a residual is 0 only where equalities hold exactly",
            "share[wrong] = np.maximum(np.abs(gap[wrong]) / size[wrong], 5e-324)",
            "share[wrong] = np.abs(gap[wrong]) / size[wrong]",
        ),
        Fault(
            "largest-residual-in-floats",
            "the largest residual of a certificate is exact",
            "share[unclear] = _shares(gap[unclear], sizes)",
            "share[unclear] *= 1.0 + 2.0**-50",
        ),
        Fault(
            "margin-understated",
            "the certificate names the margin it took",
            "margin=float(margin.max(initial=0.0)),",
            "margin=0.0,",
        ),
    ),
    *in_file(
        "dp_cmdp/program/linear_program.py",
        (LP, FEASIBILITY),
        Fault(
            "slack-without-right-hand-side",
            "the slack of a row is b − A x",
            "np.concatenate([-A.data[used], b]),",
            "np.concatenate([-A.data[used], np.abs(b)]),",
        ),
    ),
    *in_file(
        "dp_cmdp/_exact.py",
        (PROMISES, EXACT, LP),
        Fault(
            "product-error-dropped",
            "sums of products are exact",
            "return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)",
            "return p, 0.0 * p",
        ),
        Fault(
            "sum-in-floats",
            "sums are rounded once",
            "sums[left] = [math.fsum(flat[many * i : many * j]) for i, j in spans]",
            "sums[left] = [sum(flat[many * i : many * j]) for i, j in spans]",
        ),
        Fault(
            "error-bound-too-small",
            "a sign that floats decide is the exact sign",
            "error = (count + 4) * 2.0**-52 * size",
            "error = 2.0**-53 * size",
        ),
        Fault(
            "error-bound-of-unsafe-products",
            "products that under- or overflow decide nothing in floats",
            "error[rows[unsafe]] = np.inf",
            "error[rows[unsafe]] *= 2.0",
        ),
        Fault(
            "least-sum-in-floats",
            "the least slack of a certificate is exact",
            "clear = (sums > TIGHT * size) & (sums > least)",
            "clear = sums > TIGHT * size",
        ),
        Fault(
            "range-unchecked",
            "products that under- or overflow are made in fractions",
            "pieces = _expand(parts) if _is_safe(parts) else None",
            "pieces = _expand(parts)",
        ),
        Fault(
            "three-factors-range",
            "products of three factors stay in the error-free range",
            "smallest = _SMALL if number < 3 else _SMALL**0.5",
            "smallest = _SMALL",
        ),
        Fault(
            "underflow-to-zero",
            "a non-zero sum is never shown as 0",
            "if nearest == 0.0 and value:",
            "if nearest != 0.0 and value:",
        ),
    ),
    *in_file(
        "dp_cmdp/program/assumptions.py",
        (PARAMETRIC,),
        Fault(
            "robust-feasibility-unchecked",
            "a program that no answer can satisfy with certainty is refused before data is read",
            "if failing.size:",
            "if failing.size > m:",
        ),
        Fault(
            "robust-feasibility-tolerance",
            "infeasibility is seen at small scales",
            "failing = np.flatnonzero(relaxation > 1e-8 * np.abs(robust.b[:m]) + 2e-9 * size)",
            "failing = np.flatnonzero(relaxation > 1e-3)",
        ),
        Fault(
            "boundedness-of-the-best-objective",
            "boundedness is asked of every objective of the envelope",
            "cone.refuse_growth(c_high, -c_low)",
            "cone.refuse_growth(c_low, -c_high)",
        ),
        Fault(
            "boundedness-of-noise-unchecked",
            "noise on the objective needs a bounded program whatever it is",
            "cone.refuse_growth(up, down)",
            "pass",
        ),
    ),
    *in_file(
        "dp_cmdp/metrics.py",
        (METRICS,),
        Fault(
            "violation-hidden",
            "a violated row is reported",
            "worst = max(-float(slack.min(initial=0.0)), 0.0)",
            "worst = max(float(slack.min(initial=0.0)), 0.0)",
        ),
        Fault(
            "violated-rows-uncounted",
            "every violated row is counted",
            "return Violation(CuratorOnly(worst), int((slack < 0).sum()), slack.size)",
            "return Violation(CuratorOnly(worst), int((slack < -1e-9).sum()), slack.size)",
        ),
        Fault(
            "violation-unmarked",
            "what looks at the truth is marked",
            "return Violation(CuratorOnly(worst), int((slack < 0).sum()), slack.size)",
            "return Violation(worst, int((slack < 0).sum()), slack.size)  # type: ignore",
            tests=(METRICS, "tests/unit/release/test_boundary.py"),
        ),
        Fault(
            "loss-unmarked",
            "what looks at the truth is marked",
            "return CuratorOnly((best - achieved) / abs(best))",
            "return (best - achieved) / abs(best)  # type: ignore",
            tests=(METRICS, "tests/unit/release/test_boundary.py"),
        ),
        Fault(
            "saturation-strict",
            "an interval that reaches the public bound is saturated",
            "low, high = release.lower <= envelope.lower, release.upper >= envelope.upper",
            "low, high = release.lower < envelope.lower, release.upper > envelope.upper",
        ),
    ),
)
