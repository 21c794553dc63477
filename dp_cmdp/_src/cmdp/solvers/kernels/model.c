/* Around one policy: how the dual function of the multipliers behaves, to first order.
 *
 * With the occupancy y and the advantages A of a policy pi (for the reward and for each cost), the value
 * that policies near pi can reach at multipliers lambda is about
 *
 *     h(lambda) = value - lambda'(costs - b) + sum_s y(s) max_a (A_0 - lambda'A_k)(s, a).
 *
 * It is convex and piecewise linear; every policy greedy at some lambda is a cut below it. Cutting planes
 * find its least value: the best mixture of the cuts prices the next one. Prices stay in a box around
 * the first guess, which grows where they meet its sides. Once the cuts confine the optimum, states in
 * which one action is best all over that region are counted once and left out.
 */
#include "kernels.h"

/* Cuts at most: these, and so many for every cost. */
#define CUTS 60
#define CUTS_PER_COST 60
/* Accuracy of the least value: the rounding of its terms. */
#define ACCURACY 1e-13
/* First box: from the guess divided by this to the guess times this. */
#define BOX 2.0
/* Its growth, and how much in all: beyond, a new policy tells more than this one's model. */
#define GROWTH 8.0
#define GROWN 512.0
/* States are left out after every so many cuts. */
#define PRUNE 4

/* Choice in one state: the best action at the prices, the present one unless `tie` is gained. */
static inline i64 best_action(const Model *x, int m, const double *prices, i64 state) {
    const double *row = x->advantage + state * x->actions * m;
    i64 held = x->policy[state], choice = 0;
    double best = -INFINITY;
    for (i64 a = 0; a < x->actions; a++) {
        double net = a == held ? x->tie : 0.0;
        for (int k = 0; k < m; k++) net += prices[k] * row[a * m + k];
        if (net > best) best = net, choice = a;
    }
    return choice;
}

/* The policy that is greedy at the prices. */
void greedy(const Model *x, const double *prices, i32 *policy) {
    for (i64 s = 0; s < x->n; s++) policy[s] = (i32)best_action(x, x->m, prices, s);
}

static inline void add_totals(const Model *x, int m, const double *prices, const u32 *states,
                              i64 count, double *totals) {
    for (i64 i = 0; i < count; i++) {
        i64 s = states[i], a = best_action(x, m, prices, s);
        const double *row = x->advantage + (s * x->actions + a) * m;
        for (int k = 0; k < m; k++) totals[k] += x->y[s] * row[k];
    }
}

static void totals_of(const Model *x, const double *prices, const u32 *states, i64 count,
                      double *totals) {
    switch (x->m) {
        case 2: add_totals(x, 2, prices, states, count, totals); break;
        case 3: add_totals(x, 3, prices, states, count, totals); break;
        case 4: add_totals(x, 4, prices, states, count, totals); break;
        case 5: add_totals(x, 5, prices, states, count, totals); break;
        case 6: add_totals(x, 6, prices, states, count, totals); break;
        default: add_totals(x, x->m, prices, states, count, totals);
    }
}

/* Scratch of one minimisation, K entries each. Totals are kept relative to those of the policy, and in
 * units of what the first cut changes: near the end that is little, and must not drown in rounding. */
typedef struct {
    int K;
    double *low, *high, *dear;    /* the box of prices, and the most it may grow to */
    double *trial, *middle, *half; /* a price, and the region the optimum must lie in */
    double *fixed, *prices;       /* m: totals of the states left out; prices not in units */
    double *unit;                 /* m: of the gain and of each cost */
    double *columns, *gains;      /* of the cuts, in units; K + 1 and 1 */
    double *right, *weights, *dual;
    i64 *basis;
    u32 *states;
    i64 active;
} Search;

static void all_states(const Model *x, Search *f) {
    f->active = 0;
    for (i64 s = 0; s < x->n; s++)
        if (x->y[s] > 0.0) f->states[f->active++] = (u32)s;
    for (int k = 0; k < x->m; k++) f->fixed[k] = 0.0;
}

static void set_prices(const Search *f, const double *in_units) {
    f->prices[0] = 1.0;
    for (int k = 1; k <= f->K; k++) f->prices[k] = -in_units[k - 1] * f->unit[0] / f->unit[k];
}

/* Columns of the mixture: costs over b in units, and 1. */
static void set_columns(const Model *x, const Cuts *cuts, i64 first, Search *f) {
    for (i64 j = first; j < cuts->count; j++) {
        for (int k = 0; k < f->K; k++)
            f->columns[j * (f->K + 1) + k] =
                ((x->base[k + 1] - x->b[k]) + cuts->cost[j * f->K + k]) / f->unit[k + 1];
        f->columns[j * (f->K + 1) + f->K] = 1.0;
        f->gains[j] = cuts->gain[j] / f->unit[0];
    }
}

/* Evaluate h at the multipliers in f->prices: adds the cut. */
static void add_cut(const Model *x, Cuts *cuts, Search *f) {
    i64 j = cuts->count++;
    double *totals = f->dual; /* K + 1 places, free between mixtures */
    for (int k = 0; k < x->m; k++) totals[k] = f->fixed[k];
    totals_of(x, f->prices, f->states, f->active, totals);
    cuts->gain[j] = totals[0];
    for (int k = 0; k < f->K; k++) {
        cuts->cost[j * f->K + k] = totals[k + 1];
        cuts->at[j * f->K + k] = -f->prices[k + 1];
    }
}

/* What a cut is worth at prices in units, and the size of the terms. */
static double worth(const Search *f, i64 j, const double *prices, double *size) {
    double value = f->gains[j];
    *size = fabs(value);
    for (int k = 0; k < f->K; k++) {
        double paid = prices[k] * f->columns[j * (f->K + 1) + k];
        value -= paid;
        *size += fabs(paid);
    }
    return value;
}

/* The first cut, at the guess: it says what the units are. */
static void first_cut(const Model *x, Cuts *cuts, Search *f, const double *multiplier) {
    int K = f->K;
    f->prices[0] = 1.0;
    for (int k = 0; k < K; k++) f->prices[k + 1] = -multiplier[k];
    i64 j = cuts->count;
    add_cut(x, cuts, f);
    f->unit[0] = fabs(cuts->gain[j]);
    for (int k = 0; k < K; k++) {
        double over = fabs(x->base[k + 1] - x->b[k]), changed = fabs(cuts->cost[j * K + k]);
        f->unit[k + 1] = fmax(fmax(over, changed), x->least_unit[k + 1]);
        f->unit[0] = fmax(f->unit[0], multiplier[k] * f->unit[k + 1]);
    }
    f->unit[0] = fmax(f->unit[0], x->least_unit[0]);
    for (int k = 0; k < K; k++) {
        double in_units = f->unit[k + 1] / f->unit[0];
        f->trial[k] = multiplier[k] * in_units;
        f->low[k] = f->trial[k] / BOX;
        f->high[k] = fmax(f->trial[k], x->least_multiplier[k] * in_units) * BOX;
        f->dear[k] = f->high[k] * GROWN;
    }
    set_columns(x, cuts, 0, f);
}

/* The box around all prices at which no cut lies above `upper`; -1 where there is none. */
static int confine(const Cuts *cuts, double upper, Search *f) {
    int K = f->K, status = 0;
    double *columns = malloc(cuts->count * (K + 1) * sizeof(double)), *gains = columns + cuts->count * K;
    if (!columns) return -1;
    for (i64 j = 0; j < cuts->count; j++) {
        for (int k = 0; k < K; k++) columns[j * K + k] = f->columns[j * (K + 1) + k];
        gains[j] = f->gains[j] - upper;
    }
    Mixing region = {K, K, cuts->count, columns, gains, f->low, f->high, f->right};
    for (int k = 0; k < K && status == 0; k++) {
        double side[2];
        for (int end = 0; end < 2 && status == 0; end++) {
            for (int i = 0; i < K; i++) f->right[i] = i == k ? (end ? -1.0 : 1.0) : 0.0;
            start_basis(&region, -1, f->basis);
            status = simplex(&region, f->basis, f->weights, f->dual);
            side[end] = f->dual[k];
        }
        f->middle[k] = 0.5 * (side[0] + side[1]);
        f->half[k] = 0.5 * fabs(side[1] - side[0]) * (1.0 + 1e-9) + 1e-12 * fabs(f->middle[k]);
    }
    free(columns);
    return status;
}

/* Leave out the states in which one action is best in the whole region. */
static void prune(const Model *x, Search *f) {
    int m = x->m;
    double *spread = f->weights; /* K + 1 places */
    set_prices(f, f->middle);
    for (int k = 1; k < m; k++) spread[k - 1] = f->half[k - 1] * f->unit[0] / f->unit[k];
    i64 kept = 0;
    for (i64 i = 0; i < f->active; i++) {
        i64 s = f->states[i], best = best_action(x, m, f->prices, s);
        const double *row = x->advantage + s * x->actions * m, *own = row + best * m;
        int certain = 1;
        for (i64 a = 0; a < x->actions && certain; a++) {
            if (a == best) continue;
            double margin = (best == x->policy[s] ? x->tie : 0.0) - (a == x->policy[s] ? x->tie : 0.0);
            for (int k = 0; k < m; k++) margin += f->prices[k] * (own[k] - row[a * m + k]);
            for (int k = 1; k < m; k++) margin -= spread[k - 1] * fabs(own[k] - row[a * m + k]);
            certain = margin > 0.0;
        }
        if (certain)
            for (int k = 0; k < m; k++) f->fixed[k] += x->y[s] * own[k];
        else
            f->states[kept++] = (u32)s;
    }
    f->active = kept;
}

/* Let the box grow where the mixture pays its sides; 0: nowhere, 1: somewhere, -1: no more. */
static int grow(Search *f, i64 *basis, const double *weights) {
    int grown = 0, rows = f->K + 1;
    for (int j = 0; j < rows; j++) {
        if (basis[j] >= 0 || !(weights[j] > 1e-13)) continue;
        if (basis[j] >= -rows) {
            int k = (int)(-1 - basis[j]);
            if (f->low[k] > 0.0) f->low[k] = 0.0, grown = 1;
        } else {
            int k = (int)(-1 - rows - basis[j]);
            if (f->high[k] >= f->dear[k]) return -1;
            f->high[k] *= GROWTH, grown = 1;
        }
    }
    return grown;
}

static int minimise(const Model *x, Cuts *cuts, Search *f, double *multiplier, i64 *basis,
                    double *weights) {
    int K = f->K, rows = K + 1, status = -1, since = 0;
    i64 most = cuts->known + CUTS + (i64)CUTS_PER_COST * K, first = cuts->count;
    double *prices = malloc(2 * rows * sizeof(double)), *right = prices + rows;
    if (!prices) return -1;
    for (int k = 0; k <= K; k++) right[k] = k == K; /* b has been taken from the costs */
    all_states(x, f);
    first_cut(x, cuts, f, multiplier);
    double size, upper = worth(f, first, f->trial, &size);
    Mixing mixing = {rows, K, cuts->count, f->columns, f->gains, f->low, f->high, right};
    start_basis(&mixing, first, basis);
    for (;;) {
        mixing.count = cuts->count;
        if (simplex(&mixing, basis, weights, prices) < 0) break;
        double value = prices[K];
        if (upper - value <= ACCURACY * (size + fabs(value))) {
            int grown = grow(f, basis, weights);
            status = grown < 0 ? 1 : 0;
            if (grown != 1) break;
            all_states(x, f); /* what was left out was so within the smaller box */
            upper = INFINITY, status = -1;
            start_basis(&mixing, first, basis);
            continue;
        }
        if (cuts->count >= most || cuts->count >= cuts->room) {
            status = 0;
            break;
        }
        for (int k = 0; k < K; k++) f->trial[k] = fmin(fmax(prices[k], f->low[k]), f->high[k]);
        set_prices(f, f->trial);
        i64 last = cuts->count;
        add_cut(x, cuts, f);
        set_columns(x, cuts, last, f);
        double found = worth(f, last, f->trial, &size);
        if (found < upper) {
            upper = found;
            for (int k = 0; k < K; k++) multiplier[k] = -f->prices[k + 1];
        }
        if (found - value <= ACCURACY * (size + fabs(value)))
            upper = value; /* rounding is all that is left between the cuts and h */
        if (++since >= PRUNE && f->active > 64) {
            since = 0;
            if (confine(cuts, upper + ACCURACY * (size + fabs(upper)), f) == 0) prune(x, f);
        }
    }
    free(prices);
    return status;
}

/* The multipliers at which h is least, from a guess; the mixture of cuts that attains it, by number in
 * `cuts` (negative where none is meant) and weight. 0; 1 where no multipliers make the costs low enough;
 * -1 where memory or double precision do not suffice. */
int least(const Model *x, Cuts *cuts, double *multiplier, i64 *basis, double *weights) {
    int K = x->m - 1, rows = K + 1;
    size_t places = 6 * K + 3 * x->m + cuts->room * (rows + 1) + 3 * rows;
    double *room = malloc(places * sizeof(double)), *at = room;
    i64 *scratch = malloc(rows * sizeof(i64));
    u32 *states = malloc(x->n * sizeof(u32));
    int status = -1;
    if (room && scratch && states) {
        Search f = {.K = K, .basis = scratch, .states = states};
        double **parts[] = {&f.low, &f.high, &f.dear, &f.trial, &f.middle, &f.half,
                            &f.fixed, &f.prices, &f.unit, &f.right, &f.weights, &f.dual};
        for (int k = 0; k < 12; k++) *parts[k] = at, at += k < 6 ? K : rows;
        f.columns = at, at += cuts->room * rows;
        f.gains = at;
        status = minimise(x, cuts, &f, multiplier, basis, weights);
    }
    free(room), free(scratch), free(states);
    return status;
}
