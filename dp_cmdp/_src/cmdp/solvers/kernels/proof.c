/* Certain upper bounds on the costs of a randomised policy: the theorem and its rounding analysis are
 * those of dp_cmdp/cmdp/certificate.py, which also has the same steps in Python.
 *
 * Everything certain is in trace_back(), residual() and total_bound(). They read transitions,
 * probabilities and costs as they are given, and hold for any estimate; the chain only makes the estimates
 * good. The theorem is used with all states: what the policy never reaches can only loosen the bound
 * where numbers overflow, and then the chain gives no estimate and Python, which leaves it out, takes over.
 */
#include "kernels.h"

#define UNIT 0x1p-53
/* More than all underflows of one state's residual together. */
#define UNDERFLOWS 0x1p-1000
/* Lifts of an estimate to a supersolution, at most. */
#define LIFTS 3
/* Residual of the first estimate, relative to the cost, and of the first lift, relative to its own right
 * side: together that is rounding. Later lifts mend single states. */
#define FINE 1e-8
#define COARSE 1e-3
/* An excess of this share of the bound is its own rounding. */
#define NEGLIGIBLE (4.0 * UNIT)

static double up(double value) { return nextafter(value, INFINITY); }

/* Non-zeros of the policy's transitions. */
EXPORT i64 mixture_room(const Dynamics *dyn, const double *probs) {
    i64 room = 0;
    for (i64 p = 0; p < dyn->num_states * dyn->num_actions; p++)
        if (probs[p] > 0.0) room += dyn->indptr[p + 1] - dyn->indptr[p];
    return room;
}

/* The policy's transitions, one row to a state; a successor may come once for every action. */
EXPORT void mixture(const Dynamics *dyn, const double *probs, u32 *indptr, u32 *indices, double *data) {
    u32 at = 0;
    for (i64 s = 0; s < dyn->num_states; s++) {
        indptr[s] = at;
        for (i64 p = s * dyn->num_actions; p < (s + 1) * dyn->num_actions; p++) {
            if (!(probs[p] > 0.0)) continue;
            for (u32 j = dyn->indptr[p]; j < dyn->indptr[p + 1]; j++, at++)
                indices[at] = dyn->indices[j], data[at] = probs[p] * dyn->data[j];
        }
    }
    indptr[dyn->num_states] = at;
}

/* Who comes before whom under the policy. */
typedef struct {
    u32 *start, *state;       /* predecessors of each state, in compressed rows */
    u32 *queue;
    unsigned char *live;
} Graph;

/* Predecessors of every state, by counting. */
static void turn_round(const Dynamics *dyn, const double *probs, Graph *g) {
    i64 n = dyn->num_states, actions = dyn->num_actions;
    memset(g->start, 0, (n + 2) * sizeof(u32));
    for (int turn = 0; turn < 2; turn++) {
        for (i64 p = 0; p < n * actions; p++) {
            if (!(probs[p] > 0.0)) continue;
            for (u32 j = dyn->indptr[p]; j < dyn->indptr[p + 1]; j++) {
                if (!(dyn->data[j] > 0.0)) continue;
                if (turn == 0) g->start[dyn->indices[j] + 2]++;
                else g->state[g->start[dyn->indices[j] + 1]++] = (u32)(p / actions);
            }
        }
        for (i64 s = 0; s <= n && turn == 0; s++) g->start[s + 1] += g->start[s];
    }
}

/* Live states: on the way to a cost. The others cost exactly nothing from there on. */
static void trace_back(const Dynamics *dyn, const double *probs, const double *cost, Graph *g) {
    i64 n = dyn->num_states, actions = dyn->num_actions, last = 0;
    for (i64 s = 0; s < n; s++) {
        g->live[s] = 0;
        for (i64 p = s * actions; p < (s + 1) * actions; p++)
            if (probs[p] > 0.0 && cost[p] != 0.0) g->live[s] = 1;
        if (g->live[s]) g->queue[last++] = (u32)s;
    }
    for (i64 first = 0; first < last; first++) {
        u32 s = g->queue[first];
        for (u32 j = g->start[s]; j < g->start[s + 1]; j++)
            if (!g->live[g->state[j]]) g->live[g->state[j]] = 1, g->queue[last++] = g->state[j];
    }
}

/* Upper bounds on rho in live states, and a margin that covers them; returns the largest, or 0. */
static double residual(const Dynamics *dyn, const double *probs, const double *cost, const double *v,
                       const unsigned char *live, double theta, double *high, double *margin) {
    double top = 0.0, left = 1.0 - dyn->gamma;
    for (i64 s = 0; s < dyn->num_states; s++) {
        high[s] = margin[s] = 0.0;
        if (!live[s]) continue;
        double total = 0.0, value = 0.0, modulus = 0.0;
        i64 end = (s + 1) * dyn->num_actions;
        for (i64 p = end - dyn->num_actions; p < end; p++) total += probs[p];
        for (i64 p = end - dyn->num_actions; p < end; p++) {
            if (!(probs[p] > 0.0)) continue;
            double mass = 0.0, move = 0.0, size = 0.0, weight = probs[p] / total;
            for (u32 j = dyn->indptr[p]; j < dyn->indptr[p + 1]; j++) {
                double change = dyn->data[j] * (v[dyn->indices[j]] - v[s]);
                mass += dyn->data[j], move += change, size += fabs(change);
            }
            value += weight * (cost[p] + dyn->gamma * (move / mass));
            modulus += weight * (fabs(cost[p]) + dyn->gamma * (size / mass));
        }
        value -= left * v[s], modulus += left * fabs(v[s]);
        double error = up(up(theta * modulus) + UNDERFLOWS);
        high[s] = up(value + error);
        margin[s] = 2.0 * error + 8.0 * UNIT * (fabs(v[s]) + modulus);
        if (isnan(high[s])) high[s] = INFINITY;
        if (high[s] > top) top = high[s];
    }
    return top;
}

/* Sum of products, or of their sizes; off by at most a unit of itself, one of each product, and 2(nu)^2
 * of the sizes (Ogita, Rump and Oishi 2005, Sum2). */
static double sum_of(i64 n, const double *a, const double *b, int sizes) {
    double sum = 0.0, lost = 0.0;
    for (i64 i = 0; i < n; i++) {
        double term = b ? a[i] * b[i] : a[i];
        term = sizes ? fabs(term) : term;
        double next = sum + term, part = next - sum;
        lost += (sum - (next - part)) + (term - part);
        sum = next;
    }
    return sum + lost;
}

/* mu'v + top/(1 - gamma), rounded up; mu is divided by its sum. */
static double total_bound(const Dynamics *dyn, const double *v, double top) {
    i64 n = dyn->num_states;
    double rounding = 8.0 * UNIT + 8.0 * (n * UNIT) * (n * UNIT);
    double total = sum_of(n, dyn->mu, NULL, 0);
    double modulus = sum_of(n, dyn->mu, v, 1) / total;
    if (!isfinite(modulus) || !isfinite(top)) return INFINITY;
    double mean = sum_of(n, dyn->mu, v, 0) / total;
    int something = 0;
    for (i64 s = 0; s < n && !something; s++) something = dyn->mu[s] > 0.0 && v[s] != 0.0;
    if (something) mean = up(mean + up(up(rounding * modulus) + UNDERFLOWS));
    if (top == 0.0) return mean;
    return up(mean + up(top / nextafter(1.0 - dyn->gamma, 0.0)));
}

/* Bound one cost; v, high and margin are room. -1 where the chain did not give a good estimate. */
static int bound_cost(const Dynamics *dyn, const double *probs, const double *cost, const Graph *g,
                      Chain *chain, double theta, double *v, double *high, double *margin,
                      double *bound) {
    i64 n = dyn->num_states, actions = dyn->num_actions;
    double *lift = margin, size = 0.0;
    for (i64 s = 0; s < n; s++) {
        high[s] = v[s] = 0.0;
        for (i64 p = s * actions; p < (s + 1) * actions; p++) high[s] += probs[p] * cost[p];
        size += fabs(high[s]);
    }
    if (!isfinite(size)) return -1;
    if (evaluate(chain, 1, 1, high, chain->policy, v, 0.0, FINE) < 0) return -1;
    for (i64 s = 0; s < n; s++) v[s] = g->live[s] ? v[s] : 0.0;
    *bound = INFINITY;
    for (int turn = 0;; turn++) {
        double top = residual(dyn, probs, cost, v, g->live, theta, high, margin);
        double found = total_bound(dyn, v, top);
        *bound = found < *bound ? found : *bound;
        if (turn == LIFTS || !isfinite(top)) return 0;
        /* the first estimate is rough: the first lift also lowers it where it is too high */
        if (turn && top / (1.0 - dyn->gamma) <= NEGLIGIBLE * fabs(*bound)) return 0;
        for (i64 s = 0; s < n; s++) high[s] += margin[s], lift[s] = 0.0;
        if (evaluate(chain, 1, 1, high, chain->policy, lift, 0.0, turn ? COARSE : FINE) < 0) return -1;
        for (i64 s = 0; s < n; s++) v[s] = g->live[s] ? v[s] + lift[s] : 0.0;
    }
}

/* Certain upper bounds on the K costs (K, pairs) of a policy, whose chain is given (any other costs
 * tightness only). 0; -1 where the chain did not give good estimates; -2 where memory is short. */
EXPORT int cost_bounds(const Dynamics *dyn, const double *probs, int K, const double *costs,
                       Chain *chain, double *bounds) {
    i64 n = dyn->num_states, pairs = n * dyn->num_actions, longest = 0, room = mixture_room(dyn, probs);
    for (i64 p = 0; p < pairs; p++) {
        i64 length = dyn->indptr[p + 1] - dyn->indptr[p];
        longest = length > longest ? length : longest;
    }
    double factors = (double)(2 * longest + 2 * dyn->num_actions + 8) * UNIT;
    double theta = up(up(factors / (1.0 - 2.0 * factors)) * (1.0 + 4.0 * UNIT));
    double *vectors = malloc(3 * n * sizeof(double));
    u32 *numbers = malloc((2 * n + 2 + room) * sizeof(u32));
    unsigned char *marks = malloc(n);
    int status = vectors && numbers && marks ? 0 : -2;
    if (status == 0) {
        Graph g = {numbers, numbers + 2 * n + 2, numbers + n + 2, marks};
        turn_round(dyn, probs, &g);
        for (int k = 0; k < K && status == 0; k++) {
            trace_back(dyn, probs, costs + k * pairs, &g);
            status = bound_cost(dyn, probs, costs + k * pairs, &g, chain, theta, vectors, vectors + n,
                                vectors + 2 * n, bounds + k);
        }
    }
    free(vectors), free(numbers), free(marks);
    return status;
}
