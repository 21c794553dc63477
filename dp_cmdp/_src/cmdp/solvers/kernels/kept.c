/* Policies kept during a solve, and their mixtures. */
#include "solve.h"

#include <float.h>

/* Price of excess in a mixture, in units: more than any multiplier that doubles can handle. */
#define PENALTY 1e9

double larger(double a, double b) { return a > b ? a : b; }

i64 differing(i64 n, const i32 *one, const i32 *other) {
    i64 count = 0;
    for (i64 s = 0; s < n; s++) count += one[s] != other[s];
    return count;
}

void set_prices(const Solve *f, const double *multiplier) {
    f->prices[0] = 1.0;
    for (int k = 0; k < f->K; k++) f->prices[k + 1] = -multiplier[k];
}

/* Place of a policy among those kept; a new one may take that of the least recently used. */
int keep(Solve *f, const i32 *policy) {
    int oldest = -1;
    for (int j = 0; j < f->known; j++) {
        if (memcmp(f->kept[j].policy, policy, f->n * sizeof(i32)) == 0) {
            f->kept[j].used = ++f->clock;
            return j;
        }
        int needed = j < f->given; /* or by the mixture at hand */
        for (int k = 0; k <= f->K; k++) needed |= f->basis[k] == j;
        if (!needed && (oldest < 0 || f->kept[j].used < f->kept[oldest].used)) oldest = j;
    }
    if (f->known < f->room) oldest = f->known++;
    memcpy(f->kept[oldest].policy, policy, f->n * sizeof(i32));
    f->kept[oldest].exact = 0;
    f->kept[oldest].used = ++f->clock;
    return oldest;
}

/* The chain of a policy in f->other, by the ranks of f->chain; -1 without memory. */
int enter_other(Solve *f, const i32 *policy) {
    if (memcmp(f->other->rank, f->chain->rank, f->n * sizeof(u32)) != 0) {
        memcpy(f->other->rank, f->chain->rank, f->n * sizeof(u32));
        forget_factors(f->other);
    }
    return chain_of(f->other, f->dyn, policy);
}

/* Make the occupancy of a kept policy exact, and its totals. */
void complete(Solve *f, int j) {
    Known *own = &f->kept[j];
    if (own->exact) return;
    Chain *chain = f->chain;
    memcpy(own->y, f->y, f->n * sizeof(double));
    if (memcmp(own->policy, chain->policy, f->n * sizeof(i32)) != 0) {
        chain = f->other;
        enter_other(f, own->policy);
    }
    occupy(chain, f->dyn->mu, own->y, FLOW);
    own->gain = 0.0;
    for (int k = 0; k < f->K; k++) own->cost[k] = 0.0;
    for (i64 s = 0; s < f->n; s++) {
        const double *row = f->table + (s * f->dyn->num_actions + own->policy[s]) * f->m;
        own->gain += own->y[s] * row[0];
        for (int k = 0; k < f->K; k++) own->cost[k] += own->y[s] * row[k + 1];
    }
    own->exact = 1;
}

/* The basis of a mixture of least excess. Where it keeps b but for rounding, slack takes the places of its
 * elastic columns, and b is raised by what they weigh: no price of excess, however high, decides then. */
static int keep_within(Mixing mixing, const double *worthless, const double *one, double *right, i64 *basis,
                       double *weights, double *prices) {
    double excess = 0.0;
    mixing.gains = worthless, mixing.elastic_cost = one;
    if (simplex(&mixing, basis, weights, prices) < 0) return 0;
    for (int j = 0; j < mixing.rows; j++)
        if (basis[j] < -mixing.rows) excess += larger(weights[j], 0.0);
    if (excess > ROUNDED) return 0;
    for (int j = 0; j < mixing.rows; j++) {
        if (basis[j] >= -mixing.rows) continue;
        basis[j] += mixing.rows;
        right[-1 - basis[j]] += larger(weights[j], 0.0);
    }
    return 1;
}

/* The best mixture of the kept policies whose occupancy is exact: basis (in places of policies) and
 * weights, and the multipliers in f->next. `elastic`: the mixture of least excess over b, in units of
 * max|f|/(1 - gamma), whatever it earns. Writes the excess; -1 where there is no mixture. */
int mix(Solve *f, int elastic, double *excess) {
    int K = f->K, rows = K + 1, count = 0, cheapest = 0, status = -1;
    double *room = calloc(f->known * (rows + 2) + 5 * rows, sizeof(double)), lowest = INFINITY;
    int *names = malloc((f->known + 1) * sizeof(int));
    if (room && names) {
        double *columns = room, *gains = columns + f->known * rows, *worthless = gains + f->known;
        double *right = worthless + f->known, *prices = right + rows, *none = prices + rows;
        double *price = none + rows, *unit = price + rows;
        double value_unit = f->scale / (1.0 - f->dyn->gamma);
        for (int k = 0; k < K; k++) {
            unit[k] = f->peak[k + 1] / (1.0 - f->dyn->gamma);
            price[k] = 1.0;
        }
        right[K] = 1.0;
        for (int j = 0; j < f->known; j++) {
            if (!f->kept[j].exact) continue;
            double most = -INFINITY;
            for (int k = 0; k < K; k++) {
                columns[count * rows + k] = (f->kept[j].cost[k] - f->b[k]) / unit[k];
                most = larger(most, columns[count * rows + k]);
            }
            if (most < lowest) lowest = most, cheapest = count;
            columns[count * rows + K] = 1.0;
            gains[count] = elastic ? 0.0 : f->kept[j].gain / value_unit;
            names[count++] = j;
        }
        Mixing mixing = {rows, K, count, columns, gains, none, price, right};
        if (count > 0) {
            start_basis(&mixing, cheapest, f->basis);
            int within = elastic || lowest <= 0.0 ||
                         keep_within(mixing, worthless, price, right, f->basis, f->weights, prices);
            for (int k = 0; k < K && !elastic; k++)
                price[k] = within ? INFINITY : PENALTY;
            status = simplex(&mixing, f->basis, f->weights, prices);
        }
        *excess = 0.0;
        for (int j = 0; j < rows; j++) {
            if (f->basis[j] < -rows) *excess += larger(f->weights[j], 0.0);
            if (f->basis[j] >= 0) f->basis[j] = names[f->basis[j]];
        }
        for (int k = 0; k < K; k++)
            f->next[k] = larger(prices[k], 0.0) * (elastic ? 1.0 : value_unit) / unit[k];
    }
    free(room), free(names);
    return status;
}

void answer_with_mixture(const Solve *f, Answer *answer) {
    double sum = 0.0;
    answer->value = 0.0, answer->count = 0;
    for (int k = 0; k < f->K; k++) answer->costs[k] = 0.0;
    for (int j = 0; j <= f->K; j++)
        if (f->basis[j] >= 0 && f->weights[j] > 0.0) sum += f->weights[j];
    for (int j = 0; j <= f->K; j++) {
        if (f->basis[j] < 0 || !(f->weights[j] > 0.0)) continue;
        const Known *own = &f->kept[f->basis[j]];
        double weight = f->weights[j] / sum;
        answer->value += weight * own->gain;
        for (int k = 0; k < f->K; k++) answer->costs[k] += weight * own->cost[k];
        memcpy(answer->policies + answer->count * f->n, own->policy, f->n * sizeof(i32));
        memcpy(answer->occupancies + answer->count * f->n, own->y, f->n * sizeof(double));
        answer->weights[answer->count++] = weight;
    }
}

/* Occupancy measure (n, actions) of a mixture; x holds zeros. */
EXPORT void measure_of(i64 n, i64 actions, i64 count, const i32 *policies, const double *occupancies,
                       const double *weights, double *x) {
    for (i64 j = 0; j < count; j++)
        for (i64 s = 0; s < n; s++)
            x[s * actions + policies[j * n + s]] += weights[j] * occupancies[j * n + s];
}

/* No policy is worth more at these prices, what it may cost included; every rounding allowed for. */
double lagrangian_bound(const Solve *f, const double *prices, const double *w) {
    long double paid = 0.0L, size = 0.0L, bound = bound_of(f->dyn, f->m, f->table, prices, w);
    for (int k = 0; k < f->K; k++) {
        long double term = -(long double)prices[k + 1] * f->b[k];
        paid += term;
        size += fabsl(term);
    }
    bound += paid + (f->K + 2) * LDBL_EPSILON * (size + fabsl(bound));
    return nextafter((double)bound, INFINITY);
}

/* Whether bound and value meet, from above or, by rounding of the value, from below, and the costs are
 * kept: where rows nearly follow from each other, rounding of the weights may be more than it seems. */
int meets(const Solve *f, const Answer *answer) {
    double distance = fabs(answer->bound - answer->value);
    for (int k = 0; k < f->K; k++) {
        double unit = f->peak[k + 1] / (1.0 - f->dyn->gamma);
        if (answer->costs[k] - f->b[k] > FEASIBILITY * unit) return 0;
    }
    return distance <= f->gap * larger(fabs(answer->value), f->scale);
}
