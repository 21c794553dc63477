/* Column generation over policies: where Newton's steps do not settle, and to prove infeasibility.
 *
 * The best mixture of the policies at hand prices the next one: the best policy for the net reward at its
 * multipliers lambda, an unconstrained MDP. Its value bounds the optimum,
 *
 *     optimum <= max_pi (value - lambda'costs) + lambda'b.
 *
 * Where no mixture keeps b, the same is done for the least excess; multipliers with
 * lambda'(costs - b) > 0 for every policy then prove that none does.
 */
#include "solve.h"

#include <float.h>

/* Pricing problems at most. */
#define COLUMNS 400
/* Accuracy of pricing, relative to the distance between bound and value, and to the accepted gap. */
#define DISTANCE 0.1
#define PRICING 0.25
/* Improvements of a policy at most, and improvements without progress after which rounding is to blame. */
#define IMPROVEMENTS 1000
#define STALLS 3
/* Sweeps before the next improvement, while the policy changes: in mazes improvements alone would carry a
 * change on by one state each. */
#define PRICING_SWEEPS 4
/* Evaluations shrink the Bellman residual by this much while the policy changes. */
#define FORCING 0.05
/* A better action must be better by this, relative to the values. */
#define RELATIVE_TIE 1e-14
/* Gains of a column that are taken for rounding, relative to max|r|/(1 - gamma) or max|f|/(1 - gamma). */
#define GAIN_ROUNDING 1e-14
/* Weight of the best multipliers so far in those that are priced. */
#define STABILITY 0.5

typedef struct {
    double start, low, high; /* mu'w, least and largest Bellman residual */
    i64 changes;
} Improvement;

static Improvement improve(const Dynamics *dyn, const double *net, const double *w, i32 *policy) {
    Improvement found = {0.0, INFINITY, -INFINITY, 0};
    for (i64 s = 0; s < dyn->num_states; s++) {
        double best = -INFINITY, held = -INFINITY;
        i32 choice = 0;
        for (i64 a = 0; a < dyn->num_actions; a++) {
            i64 pair = s * dyn->num_actions + a;
            double next = 0.0;
            for (u32 j = dyn->indptr[pair]; j < dyn->indptr[pair + 1]; j++)
                next += dyn->data[j] * w[dyn->indices[j]];
            double q = net[pair] + dyn->gamma * next;
            if (a == policy[s]) held = q;
            if (q > best) best = q, choice = (i32)a;
        }
        found.start += dyn->mu[s] * w[s];
        found.high = larger(found.high, best - w[s]);
        if (best > held + RELATIVE_TIE * (fabs(held) + fabs(w[s]))) {
            policy[s] = choice;
            found.changes++;
            held = best;
        }
        found.low = held - w[s] < found.low ? held - w[s] : found.low;
    }
    return found;
}

/* Solve the MDP with reward `net` from the guesses w and policy, in place, until the bounds on its value
 * are `tolerance` apart, or the lower one beats `target` by more than that. Returns the upper bound. */
EXPORT double price(const Dynamics *dyn, const double *net, double *w, i32 *policy, Chain *chain,
                    double tolerance, double target, int trust) {
    double horizon = 1.0 / (1.0 - dyn->gamma), last = INFINITY, upper = INFINITY, one = 1.0;
    double settled = PRICING * tolerance / horizon;
    int stalls = 0, many = 0, changing = 0;
    if (trust && chain_of(chain, dyn, policy) == 0)
        evaluate(chain, dyn->num_actions, 1, net, policy, w, settled, 1e-4);
    for (int turn = 0; turn < IMPROVEMENTS; turn++) {
        for (int k = 0; changing && k < PRICING_SWEEPS; k++)
            sweep(dyn, 1, net, &one, w, policy, 0.0, k % 2 == 0);
        Improvement found = improve(dyn, net, w, policy);
        double lower = found.start + found.low * horizon;
        upper = found.start + found.high * horizon;
        if (upper - lower <= larger(tolerance, lower - target)) break;
        stalls = found.changes == 0 && found.high - found.low > 0.5 * last ? stalls + 1 : 0;
        if (stalls > STALLS) break;
        last = found.high - found.low;
        many = found.changes * MANY > dyn->num_states, changing = found.changes > 0;
        if (many) rank_states(chain, dyn, policy);
        if (chain_of(chain, dyn, policy) < 0) return INFINITY;
        int thorough = !many && (found.changes > 0 || turn > 0 || trust);
        double goal = FORCING * larger(found.high, -found.low);
        evaluate(chain, dyn->num_actions, 1, net, policy, w, thorough ? settled : larger(goal, settled), 0.0);
    }
    return upper;
}

/* The best policy at f->prices becomes f->policy, with its values f->w; an upper bound on the optimum. */
static double price_at(Solve *f, double *net, double tolerance, double target, int trust) {
    for (i64 p = 0; p < f->n * f->dyn->num_actions; p++) {
        net[p] = 0.0;
        for (int k = 0; k < f->m; k++) net[p] += f->prices[k] * f->table[p * f->m + k];
    }
    double paid = 0.0;
    for (int k = 0; k < f->K; k++) paid -= f->prices[k + 1] * f->b[k];
    return paid + price(f->dyn, net, f->w, f->policy, f->chain, tolerance, target - paid, trust);
}

/* What a kept policy gains over the mixture whose multipliers are f->next. */
static double gain_of(const Solve *f, int j, int elastic, double mixture) {
    double gain = elastic ? 0.0 : f->kept[j].gain;
    for (int k = 0; k < f->K; k++) gain -= f->next[k] * (f->kept[j].cost[k] - f->b[k]);
    return gain - mixture;
}

/* A mixture that keeps b, or the proof that there is none. */
static int find_feasible(Solve *f, double *net, Answer *answer) {
    int least = 0; /* no policy reduces the excess */
    for (int turn = 0; turn < COLUMNS; turn++) {
        double excess;
        if (mix(f, 1, &excess) < 0) return LOST;
        if (excess <= ROUNDED || (least && excess <= FEASIBILITY)) {
            for (int k = 0; k < f->K && excess > 0.0; k++)
                f->b[k] += excess * f->peak[k + 1] / (1.0 - f->dyn->gamma);
            return SOLVED;
        }
        if (least) return LOST;
        answer->steps++;
        f->prices[0] = 0.0;
        for (int k = 0; k < f->K; k++) f->prices[k + 1] = -f->next[k];
        price_at(f, net, 0.1 * FEASIBILITY, INFINITY, turn > 0);
        double certain = -lagrangian_bound(f, f->prices, f->w);
        int j = keep(f, f->policy);
        least = f->kept[j].exact;
        complete(f, j);
        least = least || gain_of(f, j, 1, -excess) <= 1e-3 * excess;
        if (certain > FEASIBILITY && (least || certain > 0.5 * excess)) {
            memcpy(answer->multiplier, f->next, f->K * sizeof(double));
            answer->value = certain;
            return INFEASIBLE;
        }
    }
    return LOST;
}

static int optimise(Solve *f, double *net, Answer *answer) {
    double *best = malloc((f->K + 1) * sizeof(double)), stability = 0.0;
    int status = LOST, misses = 0;
    if (!best) return NO_MEMORY;
    double bound = INFINITY, unit = f->scale / (1.0 - f->dyn->gamma);
    for (int turn = 0; turn < COLUMNS; turn++) {
        double excess;
        if (mix(f, 0, &excess) < 0 || excess > ROUNDED) break;
        answer_with_mixture(f, answer);
        answer->bound = bound;
        if (meets(f, answer)) {
            status = SOLVED;
            break;
        }
        answer->steps++;
        double allowed = f->gap * larger(fabs(answer->value), f->scale);
        double distance = bound < INFINITY && misses == 0 ? bound - answer->value : 0.0;
        for (int k = 0; k < f->K; k++)
            f->multiplier[k] = stability > 0.0 ? stability * best[k] + (1.0 - stability) * f->next[k]
                                               : f->next[k];
        set_prices(f, f->multiplier);
        price_at(f, net, larger(PRICING * allowed, DISTANCE * distance),
                 misses ? INFINITY : answer->value, turn > 0);
        double upper = lagrangian_bound(f, f->prices, f->w);
        if (upper < bound) {
            bound = upper;
            memcpy(best, f->multiplier, f->K * sizeof(double));
            memcpy(answer->multiplier, best, f->K * sizeof(double));
        }
        int j = keep(f, f->policy);
        complete(f, j);
        double gain = gain_of(f, j, 0, answer->value);
        if (gain > larger(1e-3 * allowed, GAIN_ROUNDING * unit)) {
            stability = f->K > 1 ? STABILITY : 0.0, misses = 0;
        } else if (stability > 0.0)
            stability = 0.0;
        else if (++misses > STALLS)
            break;
    }
    free(best);
    return status;
}

int run_columns(Solve *f, Answer *answer) {
    double *net = malloc(f->n * f->dyn->num_actions * sizeof(double));
    if (!net) return NO_MEMORY;
    for (int j = 0; j <= f->K; j++) f->basis[j] = -1;
    answer->count = 0;
    chain_of(f->chain, f->dyn, f->policy);
    complete(f, keep(f, f->policy));
    for (i64 s = 0; s < f->n; s++) f->w[s] = f->x[s * f->m];
    int status = find_feasible(f, net, answer);
    if (status == SOLVED) status = optimise(f, net, answer);
    free(net);
    return status;
}
