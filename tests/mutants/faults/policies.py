"""Faults in constrained MDPs: tightening, models, policies, solvers."""

from tests.mutants.fault import Fault, in_file

MODELS = "tests/unit/cmdp/test_model_promises.py"
SOLVERS = "tests/unit/cmdp/solvers/test_solver_promises.py"
CHARGES = "tests/unit/cmdp/test_charges.py"
SYNTHESIS = "tests/unit/cmdp/test_synthesis.py"
OCCUPANCY = "tests/unit/cmdp/test_occupancy.py"
POLICY = "tests/unit/cmdp/test_policy.py"
ENGINES = "tests/unit/cmdp/solvers/test_engines.py"
EXACT = "tests/unit/cmdp/solvers/test_exact_columns.py"
NEWTON = "tests/unit/cmdp/solvers/test_newton.py"
PROPERTY = "tests/property/test_cmdp.py"

FAULTS = (
    *in_file(
        "dp_cmdp/cmdp/parametric.py",
        (MODELS, SYNTHESIS, "tests/unit/envs/test_wrappers.py"),
        Fault(
            "tightened-cost-at-its-lowest",
            "the tightened model takes costs at their highest",
            "f, f0 = self.cost.bounds(low, high)[1], self.tolerance.bounds(low, high)[0]",
            "f, f0 = self.cost.bounds(low, high)[0], self.tolerance.bounds(low, high)[0]",
        ),
        Fault(
            "tightened-tolerance-at-its-highest",
            "the tightened model takes tolerances at their lowest",
            "f, f0 = self.cost.bounds(low, high)[1], self.tolerance.bounds(low, high)[0]",
            "f, f0 = self.cost.bounds(low, high)[1], self.tolerance.bounds(low, high)[1]",
        ),
        Fault(
            "tightened-by-the-estimate",
            "the tightened model is safe for everything the release allows",
            "return self.robust(release.lower, release.upper)",
            "return self.robust(release.estimate, release.estimate)",
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
            "release.check_fits(self.envelope)",
            "pass",
        ),
        Fault(
            "robust-at-the-lower-bounds",
            "the robust policy is safe for every database",
            "high = self.envelope.upper if upper is None else upper",
            "high = self.envelope.lower if upper is None else upper",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/charges.py",
        (MODELS, CHARGES, SYNTHESIS),
        Fault(
            "candidates-charged-for-one-action",
            "a candidate state costs whatever the action",
            "pair = (states[:, None] * public.num_actions + actions).ravel()",
            "pair = (states[:, None] * public.num_actions + 0 * actions).ravel()",
        ),
        Fault(
            "ending-candidates-accepted",
            "a hazard that ends the episode is not certified as free",
            "if ends.any():",
            "if ends.all():",
        ),
        Fault(
            "unreachable-candidates-accepted",
            "a candidate that is never met is refused",
            "never = ~acting_states(public)[states]",
            "never = ~acting_states(public)[states] & False",
        ),
        Fault(
            "entering-unreachable-accepted",
            "a candidate that is never entered is refused",
            "met = np.repeat(acting, public.num_actions)[table.row] & (table.data > 0.0)",
            "met = table.data > 0.0",
        ),
        Fault(
            "entries-rounded-down",
            "an expected number of entries is not rounded down",
            "raised = entries * ((1.0 + EXCESS) / mass)[pair]",
            "raised = entries * ((1.0 - EXCESS) / mass)[pair]",
        ),
        Fault(
            "ends-taken-for-certain-entries",
            "moves that all end the episode, in several states, are no certain entries",
            "certain = ((np.diff(T.indptr) == 1) & (mass == 1.0) & ~broken)[pair]",
            "certain = ((np.diff(T.indptr) == 1) & (mass == 1.0))[pair]",
        ),
        Fault(
            "credits-overcounted",
            "rounding a count up does not enlarge a negative severity",
            "below = np.maximum(-lower, 0.0)[self.candidate]",
            "below = 0.0 * lower[self.candidate]",
        ),
        Fault(
            "time-after-the-end-accepted",
            "a cost is not put on the time after the end",
            "if after.any():",
            "if after.all() and not after.size:",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/unwrapping.py",
        ("tests/unit/frontends/test_agreement.py",),
        Fault(
            "wrappers-looked-through",
            "a wrapper that may change what happens is refused",
            "if type(layer) not in harmless:",
            "if not isinstance(layer, tuple(harmless)):",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/gymnasium.py",
        ("tests/unit/frontends/test_agreement.py",),
        Fault(
            "departures-not-looked-for",
            "an environment is compared with its table",
            "is_cut = check and refuse_departures(base, table, start, is_own=mu is None)",
            "is_cut = not check and refuse_departures(base, table, start, is_own=mu is None)",
        ),
        Fault(
            "negative-costs-under-a-limit",
            "a credit that a time limit takes away is not certified",
            "if (f < 0.0).any() and not certain:",
            "if (f < 0.0).all() and not f.size:",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/agreement.py",
        ("tests/unit/frontends/test_agreement.py",),
        Fault(
            "frequencies-not-compared",
            "an environment that slips less often than P says is refused",
            "if largest > _chance(self.steps, len(self.surplus)):",
            "if largest > self.steps:",
        ),
        Fault(
            "callers-environment-played",
            "the caller's environment stays as it is",
            "made = copy.deepcopy(base)",
            "made = base",
        ),
    ),
    *in_file(
        "dp_cmdp/frontends/table.py",
        ("tests/unit/frontends/test_table.py",),
        Fault(
            "expected-cost-not-normalised",
            "the probabilities of a move are divided by their sum",
            "return exact.rounded_up(Fraction(total) / sum(weights))",
            "return exact.rounded_up(Fraction(total))",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/model.py",
        (MODELS, OCCUPANCY, SYNTHESIS),
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
            "if off[worst] > SINGLE_ROUNDING:",
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
        "dp_cmdp/cmdp/occupancy.py",
        (OCCUPANCY, SYNTHESIS),
        Fault(
            "silent-states-take-any-action",
            "states never visited take the safest action",
            "kept[silent], total[silent] = safest_policy(cmdp).probs[silent], 1.0",
            "kept[silent], total[silent] = 1.0 / cmdp.num_actions, 1.0",
        ),
        Fault(
            "noise-kept",
            "a solver's noise does not choose actions",
            "kept[kept <= share * mass] = 0.0",
            "kept[kept <= 0.0] = 0.0",
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
        "dp_cmdp/cmdp/solvers/kernels/kept.c",
        (SOLVERS, NEWTON, ENGINES),
        Fault(
            "excess-costs-nothing",
            "a mixture costs at most its tolerance",
            "price[k] = within ? INFINITY : PENALTY;",
            "price[k] = 0.0;",
        ),
        Fault(
            "gap-unchecked",
            "an answer is certified to the gap asked for",
            "return distance <= f->gap * larger(fabs(answer->value), f->scale);",
            "return distance <= larger(fabs(answer->value), f->scale);",
        ),
        Fault(
            "tolerances-not-paid-for",
            "the upper bound counts what the tolerances allow",
            "bound += paid + (f->K + 2) * LDBL_EPSILON * (size + fabsl(bound));",
            "bound += (f->K + 2) * LDBL_EPSILON * (size + fabsl(bound));",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/solvers/kernels/sweep.c",
        (SOLVERS, NEWTON, ENGINES),
        Fault(
            "bound-without-residual",
            "the upper bound counts the Bellman residual",
            "long double bound = start + off * largest * mass + most * visits;",
            "long double bound = start + off * largest * mass;",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/solvers/kernels/columns.c",
        (SOLVERS, NEWTON, ENGINES),
        Fault(
            "infeasible-without-proof",
            "infeasible is said with a proof",
            "if (certain > FEASIBILITY && (least || certain > 0.5 * excess)) {",
            "if (excess > FEASIBILITY && (least || certain > 0.5 * excess)) {",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/solvers/lp_engine.py",
        (SOLVERS, ENGINES, SYNTHESIS),
        Fault(
            "lp-bound-without-residual",
            "the upper bound counts the Bellman residual",
            "bound = mu @ values + most * visits + multiplier @ b",
            "bound = mu @ values + multiplier @ b",
        ),
        Fault(
            "infeasibility-unproved",
            "infeasible is said with a proof",
            "if excess > FEASIBILITY * float((dual * scale).max()) / (1.0 - cmdp.gamma):",
            "if excess > -1.0:",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/solvers/whole_numbers.py",
        (EXACT,),
        Fault(
            "whole-bound-without-residual",
            "the upper bound counts the Bellman residual",
            "return exactly(start) + exactly(most) * mass / left + charged",
            "return exactly(start) + charged",
        ),
    ),
    *in_file(
        "dp_cmdp/cmdp/solvers/kernels/kept.c",
        (EXACT,),
        Fault(
            "excess-for-a-price",
            "a mixture that keeps the tolerances is preferred to any other",
            "price[k] = within ? INFINITY : PENALTY;",
            "price[k] = PENALTY;",
        ),
    ),
)
