"""Faults in constrained MDPs: tightening, certificates, margins, exact costs, solvers."""

from tests.mutants.fault import Fault, in_file

CERTIFICATE = "tests/unit/cmdp/test_certificate.py"
SYNTHESIS = "tests/unit/cmdp/test_synthesis.py"
OCCUPANCY = "tests/unit/cmdp/test_occupancy.py"
POLICY = "tests/unit/cmdp/test_policy.py"
COLUMNS = "tests/unit/cmdp/test_columns.py"
NEWTON = "tests/unit/cmdp/test_newton.py"
PROPERTY = "tests/property/test_cmdp.py"

FAULTS = (
    *in_file(
        "dp_cmdp/cmdp/parametric.py",
        (SYNTHESIS, "tests/unit/envs/test_wrappers.py"),
        Fault(
            "tightened-cost-at-its-lowest",
            "the tightened model takes costs at their highest",
            "self.cost.bounds(lower, upper)[1], self.tolerance.bounds(lower, upper)[0]",
            "self.cost.bounds(lower, upper)[0], self.tolerance.bounds(lower, upper)[0]",
        ),
        Fault(
            "tightened-tolerance-at-its-highest",
            "the tightened model takes tolerances at their lowest",
            "self.cost.bounds(lower, upper)[1], self.tolerance.bounds(lower, upper)[0]",
            "self.cost.bounds(lower, upper)[1], self.tolerance.bounds(lower, upper)[1]",
        ),
        Fault(
            "tightened-by-the-estimate",
            "the tightened model is safe for everything the release allows",
            "return self.worst(release.lower, release.upper)",
            "return self.worst(release.estimate, release.estimate)",
        ),
        Fault(
            "block-costs-by-the-estimate",
            "block releases are taken at their worst end too",
            'f = release.group("A")["upper"] if expected["A"] else np.empty(0)',
            'f = release.group("A")["estimate"] if expected["A"] else np.empty(0)',
        ),
        Fault(
            "block-tolerances-at-the-upper-end",
            "block releases are taken at their worst end too",
            'f0 = release.group("b")["lower"] if expected["b"] else np.empty(0)',
            'f0 = release.group("b")["upper"] if expected["b"] else np.empty(0)',
        ),
        Fault(
            "foreign-release-tightens",
            "a release that leaves the model's bounds is refused",
            "if not self.envelope.encloses(release.lower, release.upper):",
            "if False:",
        ),
        Fault(
            "robust-at-the-lower-bounds",
            "the robust policy is safe for every database",
            "return self.worst(self.envelope.lower, self.envelope.upper)",
            "return self.worst(self.envelope.lower, self.envelope.lower)",
        ),
        Fault(
            "candidates-charged-for-one-action",
            "a candidate state costs whatever the action",
            "pairs = (candidates[:, None] * public.num_actions + actions).ravel()",
            "pairs = (candidates[:, None] * public.num_actions + 0 * actions).ravel()",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/certificate.py",
        (CERTIFICATE, PROPERTY, SYNTHESIS),
        Fault(
            "residual-dropped",
            "a certificate counts what the cost function misses",
            "return float(_up(mean + _up(top / np.nextafter(1.0 - cmdp.gamma, 0.0))))",
            "return float(mean)",
        ),
        Fault(
            "residual-not-accumulated",
            "a residual is met at every step",
            "return float(_up(mean + _up(top / np.nextafter(1.0 - cmdp.gamma, 0.0))))",
            "return float(_up(mean + _up(top)))",
        ),
        Fault(
            "rounding-of-the-residual-dropped",
            "a certificate counts rounding",
            "high = np.where(live, _up(value + error), 0.0)",
            "high = np.where(live, value, 0.0)",
        ),
        Fault(
            "rounding-of-the-start-dropped",
            "a certificate counts rounding",
            "mean = _up(mean + _up(_up(8.0 * UNIT * modulus) + UNDERFLOW))",
            "pass",
        ),
        Fault(
            "underflow-dropped",
            "a certificate counts underflow",
            "UNDERFLOW = 2.0**-1000",
            "UNDERFLOW = 0.0",
        ),
        Fault(
            "overflow-hidden",
            "overflow yields the bound +∞",
            "return np.where(np.isnan(high), np.inf, high), margin",
            "return np.where(np.isnan(high), 0.0, high), margin",
        ),
        Fault(
            "rows-of-T-not-divided",
            "rows that miss 1 are divided by their sum",
            "mass = np.add.reduceat(T.data, T.indptr[:-1])",
            "mass = np.ones(T.indptr.size - 1)",
        ),
        Fault(
            "start-not-divided",
            "a start that misses 1 is divided by its sum",
            "total = math.fsum(cmdp.mu)",
            "total = 1.0",
        ),
        Fault(
            "states-not-reached-decide",
            "what the policy never reaches does not enter its bound",
            "live = reached & _reached(sparse.csr_array(graph.T), costly)",
            "live = _reached(sparse.csr_array(graph.T), costly)",
        ),
        Fault(
            "live-states-too-few",
            "every state that leads to a cost is bounded",
            "live = reached & _reached(sparse.csr_array(graph.T), costly)",
            "live = reached & costly",
        ),
        Fault(
            "rare-actions-forgotten",
            "an action of any positive probability is counted",
            "costly = ((cost != 0.0) & (policy.probs > 0.0)).any(axis=1)",
            "costly = ((cost != 0.0) & (policy.probs > 1e-12)).any(axis=1)",
        ),
        Fault(
            "verified-if-any",
            "every cost keeps its tolerance",
            "return bool((self.worst_case_cost <= self.tolerance).all())",
            "return bool((self.worst_case_cost <= self.tolerance).any())",
        ),
        Fault(
            "verified-with-tolerance",
            "no slack enters a certificate",
            "return bool((self.worst_case_cost <= self.tolerance).all())",
            "return bool((self.worst_case_cost <= self.tolerance + 1e-9).all())",
        ),
        Fault(
            "slack-overstated",
            "the slack of a certificate is rounded down",
            "return _check.frozen(np.where(slack == 0.0, 0.0, np.nextafter(slack, -np.inf)))",
            "return _check.frozen(np.where(slack == 0.0, 0.0, np.nextafter(slack, np.inf)))",
        ),
        Fault(
            "tightest-bound-not-kept",
            "every bound found is one, and the least is reported",
            "bound = min(bound, _total_bound(cmdp, estimate, top))",
            "bound = _total_bound(cmdp, estimate, top)",
            "each of the bounds is proved alone, and the last comes from a supersolution that the "
            "earlier ones were raised to: it is the least but for rounding",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/exact_costs.py",
        (CERTIFICATE,),
        Fault(
            "exact-rows-not-divided",
            "exact costs are those of distributions",
            "return [entry / total for entry in entries]",
            "return entries",
        ),
        Fault(
            "exact-verdict-strict",
            "a cost that equals its tolerance is within it",
            "return all(cost <= Fraction(tolerance) for cost, tolerance in pairs)",
            "return all(cost < Fraction(tolerance) for cost, tolerance in pairs)",
        ),
        Fault(
            "exact-verdict-of-any",
            "every cost is within its tolerance",
            "return all(cost <= Fraction(tolerance) for cost, tolerance in pairs)",
            "return any(cost <= Fraction(tolerance) for cost, tolerance in pairs)",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/synthesis.py",
        (SYNTHESIS,),
        Fault(
            "exact-certificate-rounded-down",
            "exact costs are rounded up to floats",
            "bounds.append(bound if Fraction(bound) >= cost else np.nextafter(bound, np.inf))",
            "bounds.append(bound)",
        ),
        Fault(
            "unverified-policy-returned",
            "a policy is delivered with a certificate that holds",
            "found = _attempt(cmdp, np.zeros_like(margin), pool=pool)",
            "return _attempt(cmdp, np.zeros_like(margin), pool=pool)",
        ),
        Fault(
            "bound-without-the-margin",
            "the upper bound is that of the tolerances",
            "return solution.upper_bound + float(solution.dual @ margin) + allowance",
            "return solution.upper_bound + allowance",
        ),
        Fault(
            "bound-without-rounding",
            "the upper bound allows for rounding",
            "return solution.upper_bound + float(solution.dual @ margin) + allowance",
            "return solution.upper_bound + float(solution.dual @ margin)",
        ),
        Fault(
            "robust-policy-unchecked",
            "what cannot be made safe is refused before data is read",
            "check_robust_policy(model)",
            "pass",
        ),
        Fault(
            "margin-not-taken",
            "a solve leaves room for the certificate",
            "solution = solve_cmdp(cmdp, margin=margin, pool=pool)",
            "solution = solve_cmdp(cmdp, margin=-margin, pool=pool)",
            tests=(SYNTHESIS, PROPERTY),
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/occupancy.py",
        (OCCUPANCY, SYNTHESIS),
        Fault(
            "silent-states-take-any-action",
            "states never visited take the safest action",
            "probs[silent] = safest_policy(cmdp).probs[silent]",
            "probs[silent] = 1.0 / cmdp.num_actions",
        ),
        Fault(
            "noise-kept",
            "a solver's noise does not choose actions",
            "kept = np.where(table > share * table.sum(), table, 0.0)",
            "kept = np.where(table > 0.0, table, 0.0)",
        ),
        Fault(
            "flow-undiscounted",
            "flow is discounted",
            "return _check.frozen_sparse(sparse.csr_array(leaving - cmdp.gamma * cmdp.T.T))",
            "return _check.frozen_sparse(sparse.csr_array(leaving - cmdp.T.T))",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/safest.py",
        (OCCUPANCY, SYNTHESIS),
        Fault(
            "safest-by-reward",
            "the safest policy has the least cost first",
            "actions, _ = optimal_actions(cmdp, cmdp.r, allowed=tied)",
            "actions, _ = optimal_actions(cmdp, cmdp.r, allowed=everything)",
        ),
        Fault(
            "safest-maximises-cost",
            "the safest policy has the least cost",
            "_, values = optimal_actions(cmdp, -_total_cost(cmdp), allowed=everything)",
            "_, values = optimal_actions(cmdp, _total_cost(cmdp), allowed=everything)",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/policy.py",
        (POLICY, PROPERTY),
        Fault(
            "impossible-action-drawn",
            "an action of probability 0 is never drawn",
            "return _action(np.argmax(cumulative > level, axis=-1))",
            "return _action(np.argmax(cumulative >= level, axis=-1))",
        ),
        Fault(
            "policy-rows-unchecked",
            "rows of a policy are distributions",
            "if off[worst] > ROW_SUM_TOLERANCE:",
            "if off[worst] == np.inf:",
        ),
        Fault(
            "policy-negative-entries",
            "probabilities are not negative",
            "off = np.where((table < 0).any(axis=1), np.inf, np.abs(totals - 1.0))",
            "off = np.abs(totals - 1.0)",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/model.py",
        (OCCUPANCY, SYNTHESIS, "tests/unit/cmdp/test_evaluation.py"),
        Fault(
            "transitions-unchecked",
            "rows of T sum to 1",
            "if off[worst] > ROW_SUM_TOLERANCE:",
            "if off[worst] > 1.0:",
        ),
        Fault(
            "transitions-negative",
            "transition probabilities are not negative",
            "if (csr.data < 0).any():",
            "if (csr.data < -1).any():",
        ),
        Fault(
            "discount-of-one",
            "a discount of 1 is refused: costs may be infinite",
            "if discount >= 1.0:",
            "if discount > 1.0:",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/newton.py",
        (NEWTON, COLUMNS),
        Fault(
            "mixture-above-its-tolerance",
            "a mixture costs at most its tolerance",
            "weight = (b - other) / (one - other) if between else 1.0",
            "weight = (one - b) / (one - other) if between else 1.0",
        ),
        Fault(
            "costly-policy-accepted",
            "a policy that costs too much is no answer",
            "if weight == 1.0 and one > b:",
            "if weight == 1.0 and one < b:",
        ),
        Fault(
            "newton-bound-without-residual",
            "the upper bound counts the Bellman residual",
            "return inner(dyn.mu, w) + (most + rounding) / (1.0 - dyn.gamma)",
            "return inner(dyn.mu, w)",
        ),
        Fault(
            "newton-gap-unchecked",
            "an answer is certified to the gap asked for",
            "if abs(answer[4] - answer[2]) <= gap * max(abs(answer[2]), scale):",
            "if abs(answer[4] - answer[2]) <= 1.0 * max(abs(answer[2]), scale):",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/lp_engine.py",
        (COLUMNS, "tests/unit/cmdp/test_synthesis.py"),
        Fault(
            "lp-bound-without-residual",
            "the upper bound counts the Bellman residual",
            "return float(cmdp.mu @ v + residual.max() / (1.0 - cmdp.gamma))",
            "return float(cmdp.mu @ v)",
        ),
        Fault(
            "lp-gap-unchecked",
            "an answer is certified to the gap asked for",
            "if reached > gap:",
            "if reached > 1.0:",
        ),
        Fault(
            "infeasibility-unproved",
            "infeasible is said with a proof",
            "if excess > FEASIBILITY * float(dual @ scale) / (1.0 - cmdp.gamma):",
            "if excess > -1.0:",
        ),
    ),
)
