"""Faults in policies' certificates: bounds, exact costs, synthesis."""

from tests.mutants.fault import Fault, in_file

VERDICTS = "tests/unit/cmdp/test_certificate_promises.py"
CERTIFICATE = "tests/unit/cmdp/test_certificate.py"
SYNTHESIS = "tests/unit/cmdp/test_synthesis.py"
PROPERTY = "tests/property/test_cmdp.py"

FAULTS = (
    *in_file(
        "dp_cmdp/cmdp/certificate.py",
        (VERDICTS, CERTIFICATE, PROPERTY, SYNTHESIS),
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
            "the residual is bounded with an allowance of at least 12 roundings of every product, "
            "so that v̂ exceeds the cost by more than the 3 that the sums over the start can lose",
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
            "return bool(self.kept.all())",
            "return bool(self.kept.any())",
        ),
        Fault(
            "joint-with-tolerance",
            "no slack enters a certificate",
            "return apart if self.joint is None else apart | (self.joint <= 0.0)",
            "return apart if self.joint is None else apart | (self.joint <= 1e-9)",
        ),
        Fault(
            "verified-with-tolerance",
            "no slack enters a certificate",
            "apart = self.worst_case_cost <= self.tolerance",
            "apart = self.worst_case_cost <= self.tolerance + 1e-9",
        ),
        Fault(
            "slack-overstated",
            "the slack of a certificate is rounded down",
            "apart = np.where(slack == 0.0, 0.0, np.nextafter(slack, -np.inf))",
            "apart = np.where(slack == 0.0, 0.0, np.nextafter(slack, np.inf))",
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
        "dp_cmdp/cmdp/solvers/kernels/proof.c",
        (VERDICTS, CERTIFICATE),
        Fault(
            "compiled-residual-dropped",
            "a certificate counts what the cost function misses",
            "return up(mean + up(top / nextafter(1.0 - dyn->gamma, 0.0)));",
            "return mean;",
        ),
        Fault(
            "compiled-residual-not-accumulated",
            "a residual is met at every step",
            "return up(mean + up(top / nextafter(1.0 - dyn->gamma, 0.0)));",
            "return up(mean + up(top));",
        ),
        Fault(
            "compiled-rounding-dropped",
            "a certificate counts rounding",
            "high[s] = up(value + error);",
            "high[s] = value;",
            "the first lift is always made, and adds more than twice the rounding of a residual",
        ),
        Fault(
            "compiled-underflow-dropped",
            "a certificate counts underflow",
            "#define UNDERFLOWS 0x1p-1000",
            "#define UNDERFLOWS 0.0",
            "where every product underflows, those of the chain's steps do too: it gives no "
            "estimate, and Python bounds the cost; beside others, the rounding of these is larger",
        ),
        Fault(
            "compiled-overflow-hidden",
            "overflow yields the bound +∞",
            "if (!isfinite(size)) return -1;",
            "if (!isfinite(size)) size = 0.0;",
        ),
        Fault(
            "compiled-rows-of-T-not-divided",
            "rows that miss 1 are divided by their sum",
            "value += weight * (cost[p] + dyn->gamma * (move / mass));",
            "value += weight * (cost[p] + dyn->gamma * move);",
        ),
        Fault(
            "compiled-start-not-divided",
            "a start that misses 1 is divided by its sum",
            "double total = sum_of(n, dyn->mu, NULL, 0);",
            "double total = 1.0;",
        ),
        Fault(
            "compiled-live-states-too-few",
            "every state that leads to a cost is bounded",
            "if (!g->live[g->state[j]]) g->live[g->state[j]] = 1, g->queue[last++] = g->state[j];",
            "if (0) g->queue[last++] = g->state[j];",
        ),
        Fault(
            "compiled-rare-actions-forgotten",
            "an action of any positive probability is counted",
            "if (probs[p] > 0.0 && cost[p] != 0.0) g->live[s] = 1;",
            "if (probs[p] > 1e-12 && cost[p] != 0.0) g->live[s] = 1;",
        ),
        Fault(
            "compiled-rare-moves-forgotten",
            "a successor of any positive probability is reached",
            "if (!(dyn->data[j] > 0.0)) continue;",
            "if (!(dyn->data[j] > 1e-300)) continue;",
        ),
        Fault(
            "compiled-first-estimate-kept",
            "the bound is tight",
            "if (turn && top / (1.0 - dyn->gamma) <= NEGLIGIBLE * fabs(*bound)) return 0;",
            "if (top / (1.0 - dyn->gamma) <= NEGLIGIBLE * fabs(*bound)) return 0;",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/exact_costs.py",
        (VERDICTS, CERTIFICATE),
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
        (VERDICTS, SYNTHESIS),
        Fault(
            "exact-certificate-rounded-down",
            "exact costs are rounded up to floats",
            "bounds = [exact.rounded_up(cost) for cost in exact_costs(cmdp, policy)]",
            "bounds = [float(cost) for cost in exact_costs(cmdp, policy)]",
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
            "what cannot be made safe is refused by name, as an assumption that fails",
            "check_robust_policy(model)  # says more",
            "pass  # says more",
        ),
        Fault(
            "margin-not-taken",
            "a solve leaves room for the certificate",
            "solution = solve_cmdp(cmdp, margin=margin, pool=pool)",
            "solution = solve_cmdp(cmdp, margin=-margin, pool=pool)",
            tests=(SYNTHESIS, PROPERTY),
        ),
    ),
)
