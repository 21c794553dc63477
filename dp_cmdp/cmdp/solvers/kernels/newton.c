/* Policy and multipliers found together, by Newton's method on the dual function.
 *
 * Around a policy the dual function is known to first order (model.c). Where it is least, a few policies
 * are equally good, and the heaviest of their mixture is the next policy. While many states change,
 * sweeps of value iteration carry the changes on; towards the end values are exact, and policies seen
 * before are kept as true cuts, which ends circles.
 *
 * Once the policy is one of its own mixture, the occupancies of these policies are made exact, and their
 * best mixture is the answer. With the values w of the policy for the net reward at multipliers lambda,
 *
 *     optimum <= mu'w + max advantage / (1 - gamma) + lambda'b
 *
 * holds for the numbers at hand, converged or not (bound_of in sweep.c).
 */
#include "solve.h"

#include <float.h>

/* Steps before another method takes over: with true cuts, with costs that stay too high, and with
 * multipliers that move by more than half. */
#define CUT_STEPS 6
#define TOO_DEAR 8
#define TOO_WILD 6
/* Sweeps towards a first policy, at most. */
#define FIRST_SWEEPS 50
/* After more changes than this, sweeps carry them on: two, and more where that is many states. */
#define FEW 10
#define SWEEPS 2
#define MOST_SWEEPS 12
#define STATES_PER_SWEEP 80000
/* Multipliers that move by less than this share are near: evaluations are exact from then on. Before,
 * they only shrink the residual by so much. */
#define NEAR 0.05
#define ROUGH 1e-3
/* Flow residual of occupancies that weigh states, while many change and later. */
#define LOOSE_FLOW 1e-1
#define CLOSER_FLOW 1e-3
/* Error of evaluations and smallest gain of a change, relative to the accepted gap. */
#define EVALUATION 0.1
#define SMALLEST_GAIN 0.5
#define RELATIVE_TIE 1e-13
/* Steps of a solve after which the states are ranked anew. */
#define SLOW 40
/* First multipliers, relative to max|r|/max|f|. */
#define FIRST_MULTIPLIER 0.1
/* Weights of a mixture that are taken for none. */
#define NOTHING 1e-13

static double inner(i64 n, const double *a, const double *x, i64 stride) {
    double sum = 0.0;
    for (i64 s = 0; s < n; s++) sum += a[s] * x[s * stride];
    return sum;
}

/* Evaluate the policy; `exact` or roughly. Returns the most steps of a solve, or -1. */
static int evaluate_all(Solve *f, double allowed, int exact, i64 changes) {
    int most = 0;
    for (int k = 0; k < f->m; k++) {
        double worth = 1.0;
        if (k > 0) worth = larger(f->multiplier[k - 1], f->least_multiplier[k - 1]);
        int steps = evaluate(f->chain, f->dyn->num_actions, f->m, f->table + k, f->policy, f->x + k,
                             EVALUATION * allowed / worth, exact ? 0.0 : ROUGH);
        most = steps < 0 || most < 0 ? -1 : steps > most ? steps : most;
    }
    int steps = occupy(f->chain, f->dyn->mu, f->y, changes * MANY > f->n ? LOOSE_FLOW : CLOSER_FLOW);
    return steps < 0 || most < 0 ? -1 : steps > most ? steps : most;
}

/* Minimise the model; cuts of kept policies come first. Status of least(). */
static int find_multipliers(Solve *f, double tie, int with_known) {
    Model model = {f->n, f->dyn->num_actions, f->m, f->advantage, f->y, f->policy, tie,
                   f->base, f->b, f->least_unit, f->least_multiplier};
    f->cuts.count = 0;
    for (int j = 0; with_known && j < f->known; j++, f->cuts.count++) {
        f->cuts.gain[j] = f->kept[j].gain - f->base[0];
        for (int k = 0; k < f->K; k++)
            f->cuts.cost[j * f->K + k] = f->kept[j].cost[k] - f->base[k + 1];
    }
    f->cuts.known = (int)f->cuts.count;
    memcpy(f->next, f->multiplier, f->K * sizeof(double));
    int status = least(&model, &f->cuts, f->next, f->basis, f->weights);
    if (status < 0) return status;
    for (int j = 0; j <= f->K; j++) {
        i64 name = f->basis[j];
        if (name < f->cuts.known || !(f->weights[j] > 1e-13)) continue;
        f->prices[0] = 1.0;
        for (int k = 0; k < f->K; k++)
            f->prices[k + 1] = -f->cuts.at[name * f->K + k];
        greedy(&model, f->prices, f->mixed + j * f->n);
    }
    return status;
}

/* Where nobody comes, cuts need not be greedy at the multipliers found: take the best action there. */
static void mend(const Solve *f, double tie, i32 *policy) {
    i64 actions = f->dyn->num_actions;
    for (i64 s = 0; s < f->n; s++) {
        const double *row = f->advantage + s * actions * f->m;
        double best = -INFINITY, own = 0.0;
        i32 choice = 0;
        for (i64 a = 0; a < actions; a++) {
            double net = 0.0;
            for (int k = 0; k < f->m; k++) net += f->prices[k] * row[a * f->m + k];
            if (net > best) best = net, choice = (i32)a;
            if (a == policy[s]) own = net;
        }
        if (own < best - 2.0 * tie) policy[s] = choice; /* the cuts differ by one tie themselves */
    }
}

/* An upper bound on the optimum at some multipliers, from the values of the present policy. */
static double upper_bound(Solve *f, const double *multiplier, double allowed) {
    i64 n = f->n, actions = f->dyn->num_actions;
    set_prices(f, multiplier);
    for (i64 s = 0; s < n; s++) {
        const double *row = f->table + (s * actions + f->policy[s]) * f->m;
        double net = 0.0, value = 0.0;
        for (int k = 0; k < f->m; k++) {
            net += f->prices[k] * row[k];
            value += f->prices[k] * f->x[s * f->m + k];
        }
        f->net[f->chain->rank[s]] = net, f->w[f->chain->rank[s]] = value;
    }
    solve_chain(f->chain, f->net, f->w, EVALUATION * allowed, 0.0, PULL);
    for (i64 s = 0; s < n; s++) f->net[s] = f->w[f->chain->rank[s]];
    return lagrangian_bound(f, f->prices, f->net);
}

/* The policy is one of its own mixture: the answer, if the bound meets it. */
static int finish(Solve *f, double allowed, Answer *answer) {
    complete(f, keep(f, f->policy));
    for (int j = 0; j <= f->K; j++) {
        if (f->basis[j] < 0 || !(f->weights[j] > NOTHING)) continue;
        complete(f, f->basis[j] < f->cuts.known ? (int)f->basis[j] : keep(f, f->mixed + j * f->n));
    }
    double *at_model = f->base, excess; /* the base is not needed any more */
    memcpy(at_model, f->next, f->K * sizeof(double));
    memcpy(f->model_basis, f->basis, f->m * sizeof(i64));
    memcpy(f->model_weights, f->weights, f->m * sizeof(double));
    int found = mix(f, 0, &excess) == 0 && excess <= ROUNDED;
    if (found) {
        answer_with_mixture(f, answer);
        answer->bound = INFINITY;
        for (int turn = 0; turn < 2 && !meets(f, answer); turn++) {
            const double *multiplier = turn == 0 ? f->next : at_model;
            double bound = upper_bound(f, multiplier, allowed);
            if (bound < answer->bound) {
                answer->bound = bound;
                memcpy(answer->multiplier, multiplier, f->K * sizeof(double));
            }
        }
    }
    memcpy(f->next, at_model, f->K * sizeof(double));
    memcpy(f->basis, f->model_basis, f->m * sizeof(i64));
    memcpy(f->weights, f->model_weights, f->m * sizeof(double));
    return found && meets(f, answer);
}

/* Values and policy to start from: sweeps from below at a first guess of the multipliers. */
static void start(Solve *f) {
    double low = 0.0;
    for (i64 p = 0; p < f->n * f->dyn->num_actions; p++)
        low = f->table[p * f->m] < low ? f->table[p * f->m] : low;
    for (i64 s = 0; s < f->n; s++) {
        for (int k = 0; k < f->m; k++) f->x[s * f->m + k] = 0.0;
        f->x[s * f->m] = low / (1.0 - f->dyn->gamma);
        f->policy[s] = 0;
        f->y[s] = f->dyn->mu[s] / (1.0 - f->dyn->gamma);
    }
    for (int k = 0; k < f->K; k++)
        f->multiplier[k] = FIRST_MULTIPLIER * f->scale / f->peak[k + 1] / f->K;
    set_prices(f, f->multiplier);
    for (int turn = 0; turn < FIRST_SWEEPS; turn++) {
        i64 changes = sweep(f->dyn, f->m, f->table, f->prices, f->x, f->policy, 0.0, turn % 2 == 0);
        if (turn > 4 && changes * MANY <= f->n) break;
    }
}

int run_newton(Solve *f, int warm, int steps, Answer *answer) {
    i64 n = f->n, changes = n, history[4] = {n, n, n, n};
    int exact = warm, with_known = 0, cut_steps = 0, dear = 0, wild = 0, slow = 1, turn = 0;
    if (!warm) start(f);
    for (int step = 0; step < steps; step++) {
        answer->steps = step + 1;
        if ((changes * MANY > n && !(warm && step == 0)) || slow) rank_states(f->chain, f->dyn, f->policy);
        if (chain_of(f->chain, f->dyn, f->policy) < 0) return NO_MEMORY;
        double value = inner(n, f->dyn->mu, f->x, f->m);
        double allowed = f->gap * larger(fabs(value), f->scale) * (1.0 - f->dyn->gamma);
        int hardest = evaluate_all(f, allowed, exact, changes);
        slow = hardest < 0 || hardest > SLOW;
        advantages(f->dyn, f->m, f->table, f->x, f->advantage);
        double size = 0.0;
        for (int k = 0; k < f->m; k++) {
            double most = 0.0;
            for (i64 s = 0; s < n; s++) most = larger(most, fabs(f->x[s * f->m + k]));
            size += most * (k == 0 ? 1.0 : f->multiplier[k - 1]);
            f->base[k] = inner(n, f->dyn->mu, f->x + k, f->m);
        }
        double tie = larger(SMALLEST_GAIN * allowed, RELATIVE_TIE * size);
        int cutting = exact && (with_known || step > steps / 2);
        if (cutting) {
            if (++cut_steps > CUT_STEPS) return LOST;
            for (int j = 0; j <= f->K; j++) f->basis[j] = -1;
            int j = keep(f, f->policy);
            if (!f->kept[j].exact) {
                f->kept[j].gain = f->base[0];
                memcpy(f->kept[j].cost, f->base + 1, f->K * sizeof(double));
            }
        }
        int status = find_multipliers(f, tie, cutting);
        if (status < 0) return LOST;
        dear = status == 1 ? dear + 1 : 0;
        if (dear > TOO_DEAR) return DEAR;
        set_prices(f, f->next);
        i64 fewest = n + 1;
        int heaviest = -1;
        for (int j = 0; j <= f->K; j++) {
            if (f->basis[j] < f->cuts.known || !(f->weights[j] > 1e-13)) continue;
            mend(f, tie, f->mixed + j * n);
            i64 own = differing(n, f->mixed + j * n, f->policy);
            fewest = own < fewest ? own : fewest;
            if (heaviest < 0 || f->weights[j] > f->weights[heaviest]) heaviest = j;
        }
        i32 *chosen = heaviest < 0 ? f->mixed : f->mixed + heaviest * n;
        if (heaviest < 0) { /* all of the mixture is known: go where the multipliers lead */
            memcpy(chosen, f->policy, n * sizeof(i32));
            mend(f, tie, chosen);
            fewest = differing(n, chosen, f->policy);
        }
        double moved = 0.0, most = DBL_MIN;
        for (int k = 0; k < f->K; k++) {
            moved = larger(moved, fabs(f->next[k] - f->multiplier[k]) * f->peak[k + 1]);
            most = larger(most, f->next[k] * f->peak[k + 1]);
        }
        if (2.0 * moved > most && ++wild > TOO_WILD) return LOST;
        if (fewest == 0 && status == 0) {
            if (exact) {
                if (finish(f, allowed, answer)) return SOLVED;
                int others = 0, pick = -1;
                for (int j = 0; j <= f->K; j++)
                    if (f->basis[j] >= f->cuts.known && f->weights[j] > NOTHING &&
                        differing(n, f->mixed + j * n, f->policy) > 0)
                        others++;
                if (others == 0 && with_known) return LOST;
                int target = others ? turn++ % others : -1;
                for (int j = 0; j <= f->K && others; j++)
                    if (f->basis[j] >= f->cuts.known && f->weights[j] > NOTHING &&
                        differing(n, f->mixed + j * n, f->policy) > 0 && target-- == 0)
                        pick = j;
                if (pick >= 0) memcpy(f->policy, f->mixed + pick * n, n * sizeof(i32));
                with_known = 1;
                changes = 1;
            }
            exact = 1;
        } else {
            memcpy(f->policy, chosen, n * sizeof(i32));
            changes = fewest;
            if (changes > FEW) {
                i64 sweeps = changes * MANY > n ? n / STATES_PER_SWEEP : 0;
                sweeps = sweeps < SWEEPS ? SWEEPS : sweeps > MOST_SWEEPS ? MOST_SWEEPS : sweeps;
                for (i64 k = 0; k < sweeps; k++)
                    sweep(f->dyn, f->m, f->table, f->prices, f->x, f->policy, tie, k % 2 == 0);
            }
            exact = exact || (moved < NEAR * most && changes * MANY < n);
            i64 before = history[step % 4];
            history[step % 4] = changes;
            if (exact && (changes <= 3 || (step >= 4 && changes < 100 && 2 * changes > before)))
                with_known = 1;
        }
        memcpy(f->multiplier, f->next, f->K * sizeof(double));
    }
    return LOST;
}
