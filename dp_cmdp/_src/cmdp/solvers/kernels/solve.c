/* One constrained MDP: Newton's method, then column generation where that does not settle. */
#include "solve.h"

/* Policies kept beside those of the caller, and places for states in all of them. */
#define KEPT 60
#define KEPT_STATES (1 << 24)
/* The least multiplier that evaluations are made for, relative to max|r|/max|f|. */
#define LEAST_MULTIPLIER 1e-3
/* Cuts of a model, see model.c. */
#define MODEL_CUTS(K) (62 + 60 * (i64)(K))

/* What the caller knows: policies with their exact occupancies and values; the states that cost something,
 * at least, and policies and occupancies in these alone. */
typedef struct {
    i64 count, costly;
    const i32 *policies;
    const double *occupancies, *values;
    const u32 *states;
    const i32 *policies_there;
    const double *occupancies_there;
} Given;

static void *place(char **at, size_t bytes) {
    void *found = *at;
    *at += (bytes + 63) / 64 * 64;
    return found;
}

/* Costs of what is given, over the states that cost something; `paid` is room, pairs times K. The costs of
 * these states are put side by side first, where they stay at hand. */
static void price_given(const Solve *f, const Given *given, double *paid, double *costs) {
    i64 count = given->costly, actions = f->dyn->num_actions;
    for (int k = 0; k < f->K; k++)
        for (i64 i = 0; i < count; i++)
            for (i64 a = 0; a < actions; a++)
                paid[(k * count + i) * actions + a] =
                    f->table[(given->states[i] * actions + a) * f->m + k + 1];
    for (i64 j = 0; j < given->count; j++) {
        const i32 *policy = given->policies_there + j * count;
        const double *y = given->occupancies_there + j * count;
        for (int k = 0; k < f->K; k++) {
            const double *own = paid + k * count * actions;
            double even = 0.0, odd = 0.0;
            i64 i = 0;
            for (; i + 2 <= count; i += 2) {
                even += y[i] * own[i * actions + policy[i]];
                odd += y[i + 1] * own[(i + 1) * actions + policy[i + 1]];
            }
            if (i < count) even += y[i] * own[i * actions + policy[i]];
            costs[j * f->K + k] = even + odd;
        }
    }
}

/* Multipliers, policy and occupancy of the best mixture of what is given; 0 where there is none. */
static int start_from_given(Solve *f, const Given *given, double *costs) {
    double excess;
    for (i64 j = 0; j < given->count; j++) {
        Known *own = &f->kept[j];
        own->policy = (i32 *)given->policies + j * f->n;
        own->y = (double *)given->occupancies + j * f->n;
        own->gain = given->values[j];
        own->cost = costs + j * f->K;
        own->exact = 1, own->used = 0;
    }
    f->known = f->given = (int)given->count;
    if (given->count == 0 || mix(f, 0, &excess) < 0) return 0;
    int heaviest = -1;
    for (int j = 0; j <= f->K; j++)
        if (f->basis[j] >= 0 && (heaviest < 0 || f->weights[j] > f->weights[heaviest])) heaviest = j;
    if (heaviest < 0) return 0;
    const Known *own = &f->kept[f->basis[heaviest]];
    memcpy(f->policy, own->policy, f->n * sizeof(i32));
    memcpy(f->y, own->y, f->n * sizeof(double));
    for (int k = 0; k < f->K; k++) {
        double first = f->scale / f->peak[k + 1];
        f->multiplier[k] = larger(f->next[k] < first || excess == 0.0 ? f->next[k] : first,
                                  f->least_multiplier[k]);
    }
    return 1;
}

/* Reward and costs side by side, and their largest entries. */
static void set_table(i64 pairs, int m, const double *reward, const double *costs, double *table,
                      double *peak) {
    for (int k = 0; k < m; k++) {
        const double *column = k == 0 ? reward : costs + (k - 1) * pairs;
        double most = 0.0;
        for (i64 p = 0; p < pairs; p++) {
            double size = fabs(column[p]);
            table[p * m + k] = column[p];
            most = size > most ? size : most;
        }
        peak[k] = most > 0.0 ? most : 1.0;
    }
}

/* Solve one CMDP: K costs (K, pairs) of at most b. `x` (n, K + 1) holds values to start from if something
 * is given, and those it ended with; `steps` of Newton's method at most. SOLVED with an answer; INFEASIBLE with multipliers and the excess (as
 * value) that prove it; LOST in rounding; NO_MEMORY. */
EXPORT int solve(const Dynamics *dyn, int K, const double *reward, const double *costs, const double *b,
                 double gap, int steps, const Given *given, double *x, Chain *chain, Chain *other,
                 Answer *answer) {
    i64 n = dyn->num_states, pairs = n * dyn->num_actions, count = given->count;
    int m = K + 1, room = (int)(KEPT_STATES / n < KEPT ? KEPT_STATES / n : KEPT);
    if (room < 4 * m) room = 4 * m;
    i64 cuts = count + room + MODEL_CUTS(K);
    size_t each = n * (sizeof(i32) + sizeof(double)) + K * sizeof(double) + 3 * 64;
    size_t bytes = sizeof(double) * (2 * pairs * m + 2 * n + 12 * m + cuts * (1 + 2 * K) + count * K) +
                   room * each + (count + room) * sizeof(Known) + (m + 1) * n * sizeof(i32) + 64 * 40;
    char *memory = malloc(bytes), *at = memory;
    if (!memory) return NO_MEMORY;
    double *table = place(&at, pairs * m * sizeof(double)), *peak = place(&at, m * sizeof(double));
    set_table(pairs, m, reward, costs, table, peak);
    Solve f = {.dyn = dyn, .m = m, .K = K, .n = n, .table = table, .gap = gap, .scale = peak[0],
               .peak = peak, .x = x, .chain = chain, .other = other};
    f.room = (int)count + room;
    f.advantage = place(&at, pairs * m * sizeof(double));
    f.y = place(&at, n * sizeof(double));
    f.w = place(&at, n * sizeof(double));
    double **few[] = {&f.b, &f.multiplier, &f.next, &f.base, &f.prices, &f.least_unit,
                      &f.least_multiplier, &f.weights, &f.model_weights};
    for (int k = 0; k < 9; k++) *few[k] = place(&at, m * sizeof(double));
    f.basis = place(&at, m * sizeof(i64));
    f.model_basis = place(&at, m * sizeof(i64));
    f.policy = place(&at, n * sizeof(i32));
    f.mixed = place(&at, m * n * sizeof(i32));
    f.cuts.room = cuts;
    f.cuts.gain = place(&at, cuts * sizeof(double));
    f.cuts.cost = place(&at, cuts * K * sizeof(double));
    f.cuts.at = place(&at, cuts * K * sizeof(double));
    f.kept = place(&at, f.room * sizeof(Known));
    for (int j = 0; j < room; j++) {
        f.kept[count + j].policy = place(&at, n * sizeof(i32));
        f.kept[count + j].y = place(&at, n * sizeof(double));
        f.kept[count + j].cost = place(&at, K * sizeof(double));
    }
    double *given_costs = place(&at, count * K * sizeof(double));
    price_given(&f, given, f.advantage, given_costs);
    memcpy(f.b, b, K * sizeof(double));
    for (int k = 0; k < m; k++) {
        f.basis[k] = -1;
        f.least_unit[k] = 1e-16 * peak[k] / (1.0 - dyn->gamma);
        if (k > 0) f.least_multiplier[k - 1] = LEAST_MULTIPLIER * peak[0] / peak[k];
    }
    answer->steps = 0;
    chain->grade = other->grade = 0; /* answers do not depend on what was solved before */
    chain->tried_slim = other->tried_slim = 0;
    forget_factors(chain), forget_factors(other);
    int status = run_newton(&f, start_from_given(&f, given, given_costs), steps, answer);
    if (status == LOST) status = run_columns(&f, answer);
    measure_of(n, dyn->num_actions, answer->count, answer->policies, answer->occupancies,
               answer->weights, answer->measure);
    free(memory);
    return status;
}

#ifndef KERNELS_DIGEST
#define KERNELS_DIGEST ""
#endif
/* The sources this was made of, see build.py. */
EXPORT const char *kernels_digest = KERNELS_DIGEST;
