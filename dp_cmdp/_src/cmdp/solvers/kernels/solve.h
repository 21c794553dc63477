/* What the methods of one solve share. */
#ifndef DP_CMDP_SOLVE_H
#define DP_CMDP_SOLVE_H

#include "kernels.h"

/* Flow residual of the occupancies that are mixed. */
#define FLOW 1e-14
/* Excess of a mixture that is rounding of its weights, relative to max|f|/(1 - gamma). */
#define ROUNDED 1e-14
/* Excess that no policy reduces is taken for rounding of the tolerances up to this, relative to
 * max|f|/(1 - gamma). More must be proved, and no answer has more. */
#define FEASIBILITY 1e-10
/* More than one state in this many: states are then ranked anew, and what follows is rough. */
#define MANY 50

enum { SOLVED = 0, NO_MEMORY = 1, LOST = 2, INFEASIBLE = 3 };

/* A policy evaluated before: its totals, and its occupancy once that is exact. */
typedef struct {
    i32 *policy;
    double *y;
    double gain, *cost;
    int exact, used;
} Known;

/* One solve: the problem, where it stands, and room to work. */
typedef struct {
    const Dynamics *dyn;
    int m, K;
    i64 n;
    const double *table;
    double *b;                        /* K, raised by what is rounding where they cannot be kept */
    double gap, scale;                /* accepted gap, relative to max(|value|, scale = max|r|) */
    const double *peak;               /* m: largest entries of the columns of the table */
    double *multiplier, *next;        /* K: the present ones, and those found */
    i32 *policy;
    double *x, *y;                    /* its values (n, m) and occupancy */
    Chain *chain, *other;             /* its chain, and that of another policy */
    double *advantage, *base, *prices;
    double *least_unit, *least_multiplier;
    i32 *mixed;                       /* K + 1 policies */
    double *w;                        /* n: values at some prices */
    i64 *basis, *model_basis;         /* K + 1: of the last mixture, with its weights; of the model's */
    double *weights, *model_weights;
    Known *kept;
    int known, given, room, clock;    /* policies kept; those of the caller come first, and stay */
    Cuts cuts;
} Solve;

/* A mixture of policies; what no policy exceeds, at which multipliers. */
typedef struct {
    double value, bound;
    i64 steps, count;
    double *costs, *multiplier, *weights;
    i32 *policies;
    double *occupancies;
    double *measure;                  /* (n, actions), zeros at first */
} Answer;

/* kept.c */
double larger(double a, double b);
i64 differing(i64 n, const i32 *one, const i32 *other);
void set_prices(const Solve *f, const double *multiplier);
int keep(Solve *f, const i32 *policy);
int enter_other(Solve *f, const i32 *policy);
void complete(Solve *f, int j);
int mix(Solve *f, int elastic, double *excess);
void answer_with_mixture(const Solve *f, Answer *answer);
void measure_of(i64 n, i64 actions, i64 count, const i32 *policies, const double *occupancies,
                const double *weights, double *x);
double lagrangian_bound(const Solve *f, const double *prices, const double *w);
int meets(const Solve *f, const Answer *answer);

/* newton.c, columns.c */
int run_newton(Solve *f, int warm, int steps, Answer *answer);
int run_columns(Solve *f, Answer *answer);

#endif
