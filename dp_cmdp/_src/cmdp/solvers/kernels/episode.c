/* One step of an episode: backwards for values, forwards for visits. Python loops over the steps, but for
 * the passes of a search, which are one call each.
 *
 * A step's policy is a table of actions and, for a few states, probabilities: `mixed` are their numbers in
 * ascending order, `odds` (mixed, actions). Costs are K to a pair and K to a state. `length` is that of the
 * rows of T where all have the same, else 0.
 */
#include "kernels.h"

typedef uint8_t u8;

#define UNDERFLOWS 0x1p-1000
#define ALWAYS static inline __attribute__((always_inline))

ALWAYS void best_of(const Dynamics *dyn, u32 length, int K, const double *net, const double *cost,
                    const double *next, const double *next_cost, double *value, double *paid,
                    u8 *actions) {
    const u32 *indices = dyn->indices;
    const double *data = dyn->data, gamma = dyn->gamma;
    i64 A = dyn->num_actions;
    for (i64 s = 0; s < dyn->num_states; s++) {
        double best = -INFINITY;
        i64 chosen = 0;
        for (i64 a = 0; a < A; a++) {
            i64 p = s * A + a;
            i64 j = length ? p * length : dyn->indptr[p], end = length ? j + length : dyn->indptr[p + 1];
            double sum = 0.0;
            for (; j < end; j++) sum += data[j] * next[indices[j]];
            sum = net[p] + gamma * sum;
            int better = sum > best;
            chosen = better ? a : chosen;
            best = better ? sum : best;
        }
        value[s] = best;
        actions[s] = (u8)chosen;
        if (!K) continue;
        i64 p = s * A + chosen;
        i64 first = length ? p * length : dyn->indptr[p];
        i64 end = length ? first + length : dyn->indptr[p + 1];
        for (int k = 0; k < K; k++) {
            double sum = 0.0;
            for (i64 j = first; j < end; j++) sum += data[j] * next_cost[(i64)indices[j] * K + k];
            paid[s * K + k] = cost[p * K + k] + gamma * sum;
        }
    }
}

#define BEST(L, K) best_of(dyn, L, K, net, cost, next, next_cost, value, paid, actions)
#define BEST_OF_FEW(L) switch (K) { case 0: BEST(L, 0); break; case 1: BEST(L, 1); break; \
    case 2: BEST(L, 2); break; case 3: BEST(L, 3); break; default: BEST(L, K); }

/* The best actions for the reward `net` before the values `next`, and what they cost. */
static void step_back(const Dynamics *dyn, u32 length, int K, const double *net, const double *cost,
                         const double *next, const double *next_cost, double *value, double *paid,
                         u8 *actions) {
    switch (length) {
        case 1: BEST_OF_FEW(1) break;
        case 2: BEST_OF_FEW(2) break;
        case 3: BEST_OF_FEW(3) break;
        case 4: BEST_OF_FEW(4) break;
        case 5: BEST_OF_FEW(5) break;
        default: BEST_OF_FEW(0)
    }
}

/* All steps of a pass, from values of 0: `value` (2, states) and `paid` (2, states, K) are exchanged at every
 * step, and those of the first one are in the half `steps % 2`; `table` (steps, states) are the actions. */
EXPORT void episode_back(const Dynamics *dyn, u32 length, int K, i64 steps, const double *net,
                         const double *cost, double *value, double *paid, u8 *table) {
    i64 n = dyn->num_states;
    memset(value, 0, n * sizeof(double));
    memset(paid, 0, n * K * sizeof(double));
    for (i64 done = 0; done < steps; done++) {
        i64 here = (done + 1) % 2, next = done % 2;
        step_back(dyn, length, K, net, cost, value + next * n, paid + next * n * K, value + here * n,
                  paid + here * n * K, table + (steps - 1 - done) * n);
    }
}

/* K tables before the values `next` under a step's policy: rows of T and of the policy are divided by their
 * sums. With theta > 0 each value is raised by theta times the same sums with moduli, where theta allows for
 * all roundings; exactly 0 is left only where no term is different from 0. */
EXPORT void episode_costs(const Dynamics *dyn, int K, const double *cost, const double *next,
                          const u8 *actions, i64 count, const i64 *mixed, const double *odds,
                          double theta, double *paid) {
    i64 A = dyn->num_actions, at = 0;
    for (i64 s = 0; s < dyn->num_states; s++) {
        const double *chances = at < count && mixed[at] == s ? odds + A * at++ : NULL;
        i64 first = chances ? 0 : actions[s], last = chances ? A : actions[s] + 1;
        double whole = 0.0;
        for (i64 a = first; a < last; a++) whole += chances ? chances[a] : 1.0;
        for (int k = 0; k < K; k++) {
            double value = 0.0, modulus = 0.0;
            int touched = 0;
            for (i64 a = first; a < last; a++) {
                double weight = chances ? chances[a] : 1.0, mass = 0.0, move = 0.0, size = 0.0;
                if (!(weight > 0.0)) continue;
                i64 p = s * A + a;
                for (u32 j = dyn->indptr[p]; j < dyn->indptr[p + 1]; j++) {
                    double chance = dyn->data[j], ahead = next[(i64)dyn->indices[j] * K + k];
                    mass += chance, move += chance * ahead, size += chance * fabs(ahead);
                    touched |= chance > 0.0 && ahead != 0.0;
                }
                double own = cost[p * K + k];
                touched |= own != 0.0;
                value += weight * (own + dyn->gamma * (move / mass));
                modulus += weight * (fabs(own) + dyn->gamma * (size / mass));
            }
            value /= whole, modulus /= whole;
            if (theta > 0.0 && touched)
                value = nextafter(value + (theta * modulus + UNDERFLOWS), INFINITY);
            paid[s * K + k] = value;
        }
    }
}

/* Mass `visits` is moved one step on, into `after`; x (pairs), if any, gains `weight` times the visits of
 * pairs. Rows of T and of the policy are divided by their sums. */
EXPORT void episode_visits(const Dynamics *dyn, const u8 *actions, i64 count, const i64 *mixed,
                           const double *odds, double weight, const double *visits, double *after,
                           double *x) {
    i64 A = dyn->num_actions, at = 0;
    memset(after, 0, dyn->num_states * sizeof(double));
    for (i64 s = 0; s < dyn->num_states; s++) {
        const double *chances = at < count && mixed[at] == s ? odds + A * at++ : NULL;
        i64 first = chances ? 0 : actions[s], last = chances ? A : actions[s] + 1;
        double whole = 0.0;
        if (!(visits[s] > 0.0)) continue;
        for (i64 a = first; a < last; a++) whole += chances ? chances[a] : 1.0;
        for (i64 a = first; a < last; a++) {
            double here = chances ? visits[s] * (chances[a] / whole) : visits[s], mass = 0.0;
            if (!(here > 0.0)) continue;
            i64 p = s * A + a;
            if (x) x[p] += weight * here;
            for (u32 j = dyn->indptr[p]; j < dyn->indptr[p + 1]; j++) mass += dyn->data[j];
            here /= mass;
            for (u32 j = dyn->indptr[p]; j < dyn->indptr[p + 1]; j++)
                after[dyn->indices[j]] += here * dyn->data[j];
        }
    }
}
