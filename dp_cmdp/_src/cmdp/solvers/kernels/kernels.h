/* The compiled kernels of the CMDP solver: what every file here shares.
 *
 * Tables have m = K + 1 columns per state-action pair: the reward, then the K costs. A table's values
 * under a policy are kept the same way, m to a state. Prices are (1, -lambda_1, ..., -lambda_K), so that
 * prices . row is the reward less what its costs are charged.
 */
#ifndef DP_CMDP_KERNELS_H
#define DP_CMDP_KERNELS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;

/* T in compressed rows (one per pair), start and discount. */
typedef struct {
    i64 num_states, num_actions;
    const u32 *indptr, *indices;
    const double *data, *mu;
    double gamma;
} Dynamics;

/* One policy's matrix M = I - gamma T_pi, states renumbered by rank, with incomplete factors.
 * Row i: columns below i from start[i], columns above from middle[i]; weights are those of gamma T. */
typedef struct {
    i64 n, room;               /* states, and places for non-zeros */
    i32 *policy, *factored;    /* whose chain it is, and whose factors; first entry -1: nobody's */
    u32 *rank;                 /* of each state */
    i64 *start, *middle;
    u32 *column;
    double *weight, *diagonal;
    i64 factor_room;
    i64 *lower_start, *upper_start;
    u32 *lower, *upper;
    double *lower_value, *upper_value; /* first of an upper row: 1/pivot */
    double *work;              /* nine vectors */
    u32 *marks;                /* three vectors */
    int grade;                 /* how hard its factors had to be tried, see factors() */
    int tried_slim;            /* whether grade SLIM was tried since the solve began */
} Chain;

enum { PULL = 0, PUSH = 1 };   /* values pull along the transitions, mass is pushed */

/* chain.c */
Chain *chain_new(i64 n, i64 room);
void chain_free(Chain *chain);
i64 chain_room(const Dynamics *dyn);
void natural_order(Chain *chain);
void forget_factors(Chain *chain);
int rank_states(Chain *chain, const Dynamics *dyn, const i32 *policy);
int chain_of(Chain *chain, const Dynamics *dyn, const i32 *policy);
int solve_chain(Chain *chain, const double *b, double *x, double tolerance, double shrink, int way);
int evaluate(Chain *chain, i64 actions, i64 stride, const double *table, const i32 *policy,
             double *v, double tolerance, double shrink);
int occupy(Chain *chain, const double *mu, double *y, double tolerance);

/* sweep.c */
i64 sweep(const Dynamics *dyn, int m, const double *table, const double *prices, double *x,
          i32 *policy, double tie, int backwards);
void advantages(const Dynamics *dyn, int m, const double *table, const double *x, double *out);
double bound_of(const Dynamics *dyn, int m, const double *table, const double *prices,
                const double *w);

/* simplex.c */
typedef struct {
    int rows, limited;         /* rows in all; the first `limited` have a slack and an elastic column */
    i64 count;                 /* columns */
    const double *columns;     /* count x rows */
    const double *gains;       /* of the columns */
    const double *slack_gain, *elastic_cost; /* of each limited row */
    const double *right;
} Mixing;
void start_basis(const Mixing *mixing, i64 column, i64 *basis);
int simplex(const Mixing *mixing, i64 *basis, double *weights, double *prices);

/* model.c */
typedef struct {
    i64 n, actions;
    int m;
    const double *advantage, *y;
    const i32 *policy;
    double tie;
    const double *base;        /* m totals of the policy itself */
    const double *b;
    const double *least_unit;  /* m: what is rounding in the value and in each cost */
    const double *least_multiplier;
} Model;
typedef struct {
    i64 count, room;
    double *gain, *cost, *at;  /* totals over the base, and the multipliers they belong to, K each */
    int known;                 /* the first columns are policies evaluated before */
} Cuts;
void greedy(const Model *model, const double *prices, i32 *policy);
int least(const Model *model, Cuts *cuts, double *multiplier, i64 *basis, double *weights);

#endif
