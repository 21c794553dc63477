/* Passes over all transitions: value iteration, advantages, and the Lagrangian bound. */
#include "kernels.h"

#include <float.h>

/* The values of all columns of the table after one action, its chance to stay solved for: without that,
 * absorbing states contract by gamma per sweep only. Inlined with a constant m for few costs. */
static inline double after(const Dynamics *dyn, int m, const double *table, const double *prices,
                           const double *x, i64 state, i64 pair, double *q) {
    double stay = 0.0, net = 0.0;
    for (int k = 0; k < m; k++) q[k] = 0.0;
    for (u32 j = dyn->indptr[pair]; j < dyn->indptr[pair + 1]; j++) {
        double chance = dyn->data[j];
        if (dyn->indices[j] == (u32)state) {
            stay += chance;
            continue;
        }
        const double *next = x + (i64)dyn->indices[j] * m;
        for (int k = 0; k < m; k++) q[k] += chance * next[k];
    }
    double scale = stay > 0.0 ? 1.0 / (1.0 - dyn->gamma * stay) : 1.0;
    for (int k = 0; k < m; k++) {
        q[k] = (table[pair * m + k] + dyn->gamma * q[k]) * scale;
        net += prices[k] * q[k];
    }
    return net;
}

static inline i64 sweep_of(const Dynamics *dyn, int m, const double *table, const double *prices,
                           double *x, i32 *policy, double tie, int backwards, double *kept) {
    i64 n = dyn->num_states, changes = 0;
    double *q = kept + m;
    for (i64 i = 0; i < n; i++) {
        i64 s = backwards ? n - 1 - i : i, choice = policy[s];
        double best = -INFINITY;
        for (i64 a = 0; a < dyn->num_actions; a++) {
            double net = after(dyn, m, table, prices, x, s, s * dyn->num_actions + a, q);
            net += a == policy[s] ? tie : 0.0;
            if (net > best) {
                best = net, choice = a;
                for (int k = 0; k < m; k++) kept[k] = q[k];
            }
        }
        changes += choice != policy[s];
        policy[s] = (i32)choice;
        for (int k = 0; k < m; k++) x[s * m + k] = kept[k];
    }
    return changes;
}

/* One Gauss-Seidel sweep of value iteration on the values x of all columns, in place, for the best net
 * value; the present action is kept unless another is better by more than `tie`. Returns the changes. */
EXPORT i64 sweep(const Dynamics *dyn, int m, const double *table, const double *prices, double *x,
                 i32 *policy, double tie, int backwards) {
    double few[12], *room = m <= 6 ? few : malloc(2 * m * sizeof(double));
    i64 changes = 0;
    if (!room) return -1;
    switch (m) {
        case 1: changes = sweep_of(dyn, 1, table, prices, x, policy, tie, backwards, room); break;
        case 2: changes = sweep_of(dyn, 2, table, prices, x, policy, tie, backwards, room); break;
        case 3: changes = sweep_of(dyn, 3, table, prices, x, policy, tie, backwards, room); break;
        case 4: changes = sweep_of(dyn, 4, table, prices, x, policy, tie, backwards, room); break;
        case 5: changes = sweep_of(dyn, 5, table, prices, x, policy, tie, backwards, room); break;
        case 6: changes = sweep_of(dyn, 6, table, prices, x, policy, tie, backwards, room); break;
        default: changes = sweep_of(dyn, m, table, prices, x, policy, tie, backwards, room);
    }
    if (room != few) free(room);
    return changes;
}

static inline void advantages_of(const Dynamics *dyn, int m, const double *table, const double *x,
                                 double *out) {
    for (i64 s = 0; s < dyn->num_states; s++)
        for (i64 p = s * dyn->num_actions; p < (s + 1) * dyn->num_actions; p++) {
            double *q = out + p * m;
            for (int k = 0; k < m; k++) q[k] = 0.0;
            for (u32 j = dyn->indptr[p]; j < dyn->indptr[p + 1]; j++) {
                const double *next = x + (i64)dyn->indices[j] * m;
                for (int k = 0; k < m; k++) q[k] += dyn->data[j] * next[k];
            }
            for (int k = 0; k < m; k++) q[k] = table[p * m + k] + dyn->gamma * q[k] - x[s * m + k];
        }
}

/* What each action adds to the values x, in all columns of the table. */
EXPORT void advantages(const Dynamics *dyn, int m, const double *table, const double *x, double *out) {
    switch (m) {
        case 2: advantages_of(dyn, 2, table, x, out); break;
        case 3: advantages_of(dyn, 3, table, x, out); break;
        case 4: advantages_of(dyn, 4, table, x, out); break;
        case 5: advantages_of(dyn, 5, table, x, out); break;
        case 6: advantages_of(dyn, 6, table, x, out); break;
        default: advantages_of(dyn, m, table, x, out);
    }
}

/* No policy has a larger net value at these prices, whatever w is:
 *
 *     mu'w + max_{s,a} delta(s, a) sum_t gamma^t,    delta = prices . table + gamma T w - w.
 *
 * Extended precision, with every rounding allowed for: sums of N products are off by at most N units of
 * rounding times the sum of their sizes. Pairs that even in doubles are certain not to be the largest are
 * passed over. In doubles, rows of T may sum to a little more or less than 1. */
EXPORT double bound_of(const Dynamics *dyn, int m, const double *table, const double *prices,
                       const double *w) {
    long double most = -INFINITY, largest = 0.0L, start = 0.0L, mass = 0.0L;
    double longest = 0.0, shortest = INFINITY;
    for (i64 s = 0; s < dyn->num_states; s++) {
        long double size = fabsl((long double)w[s]);
        largest = size > largest ? size : largest;
        start += (long double)dyn->mu[s] * w[s];
        mass += dyn->mu[s];
    }
    for (i64 s = 0, p = 0; s < dyn->num_states; s++)
        for (; p < (s + 1) * dyn->num_actions; p++) {
            double sum = 0.0, rough = 0.0, paid = 0.0, sizes = 0.0;
            for (u32 j = dyn->indptr[p]; j < dyn->indptr[p + 1]; j++) {
                rough += dyn->data[j] * w[dyn->indices[j]];
                sum += dyn->data[j];
            }
            for (int k = 0; k < m; k++) {
                double term = prices[k] * table[p * m + k];
                paid += term;
                sizes += fabs(term);
            }
            double length = (double)(dyn->indptr[p + 1] - dyn->indptr[p]);
            double roughly = (length + m + 8) * DBL_EPSILON;
            longest = sum * (1.0 + roughly) > longest ? sum * (1.0 + roughly) : longest;
            shortest = sum * (1.0 - roughly) < shortest ? sum * (1.0 - roughly) : shortest;
            /* twice what either sum is off by, and once more for the rounding of this line */
            if (paid + dyn->gamma * rough - w[s] + 4.0 * roughly * (sizes + 3.0 * (double)largest) < most)
                continue;
            long double next = 0.0L, net = 0.0L, size = 0.0L;
            for (u32 j = dyn->indptr[p]; j < dyn->indptr[p + 1]; j++)
                next += (long double)dyn->data[j] * w[dyn->indices[j]];
            for (int k = 0; k < m; k++) {
                long double term = (long double)prices[k] * table[p * m + k];
                net += term;
                size += fabsl(term);
            }
            long double off = ((long double)length + m + 8) * LDBL_EPSILON;
            long double delta = net + (long double)dyn->gamma * next - w[s];
            delta += off * (size + 3.0L * largest);
            most = delta > most ? delta : most;
        }
    long double off = ((long double)dyn->num_states + 8) * LDBL_EPSILON, gamma = dyn->gamma;
    long double left = most > 0.0L ? 1.0L - gamma * longest : 1.0L - gamma * shortest;
    left += most > 0.0L ? -4 * LDBL_EPSILON : 4 * LDBL_EPSILON;
    if (!(left > 0.0L)) return INFINITY;
    long double visits = mass / left * (most > 0.0L ? 1.0L + off : 1.0L - off);
    long double bound = start + off * largest * mass + most * visits;
    return nextafter((double)bound, INFINITY);
}
