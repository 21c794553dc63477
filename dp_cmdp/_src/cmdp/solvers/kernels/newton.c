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
 * multipliers that move by more than half. From the second of the latter on only half the way is gone. */
#define CUT_STEPS 6
#define TOO_DEAR 8
#define TOO_WILD 6
#define WILD 2
/* Sweeps towards a first policy, at most. */
#define FIRST_SWEEPS 50
/* Sweeps carry more changes than these on, until they are as few; fewer do not go far. */
#define FEW 10
/* Sweeps at most: an evaluation takes longer than that many on large grids (12 took a quarter longer at
 * 10^5 states, 24 a tenth longer at 10^4). */
#define SWEEPS 16
/* After so few changes the mixture the model names is tried: most often it is the answer. */
#define NEARLY 4
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
#define RELATIVE_TIE 1e-14
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
        if (name < f->cuts.known || !(f->weights[j] > NOTHING)) continue;
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

/* An upper bound on the optimum at some multipliers, from the values of the policy of a chain there.
 * Overwrites the advantages. */
static double upper_bound(Solve *f, Chain *chain, const double *multiplier, double allowed) {
    i64 n = f->n, actions = f->dyn->num_actions;
    double *net = f->advantage;
    set_prices(f, multiplier);
    for (i64 p = 0; p < n * actions; p++) {
        net[p] = 0.0;
        for (int k = 0; k < f->m; k++) net[p] += f->prices[k] * f->table[p * f->m + k];
    }
    for (i64 s = 0; s < n; s++) {
        f->w[s] = 0.0;
        for (int k = 0; k < f->m; k++) f->w[s] += f->prices[k] * f->x[s * f->m + k];
    }
    evaluate(chain, actions, 1, net, chain->policy, f->w, EVALUATION * allowed, 0.0);
    return lagrangian_bound(f, f->prices, f->w);
}

/* A chain of one of the mixed policies: the present one, or another at hand; NULL without memory. */
static Chain *chain_of_mixture(Solve *f) {
    size_t bytes = f->n * sizeof(i32);
    int heaviest = -1;
    Chain *found = NULL;
    for (int j = 0; j <= f->K; j++) {
        if (f->basis[j] < 0 || !(f->weights[j] > NOTHING)) continue;
        const i32 *own = f->kept[f->basis[j]].policy;
        if (memcmp(own, f->chain->policy, bytes) == 0) return f->chain;
        if (memcmp(own, f->other->policy, bytes) == 0) found = f->other;
        if (heaviest < 0 || f->weights[j] > f->weights[heaviest]) heaviest = j;
    }
    if (found || heaviest < 0) return found;
    return enter_other(f, f->kept[f->basis[heaviest]].policy) < 0 ? NULL : f->other;
}

/* The mixture that the model names, which holds the present policy or is few changes away: the answer, if
 * the bound meets it. */
static int finish(Solve *f, double allowed, i64 changes, Answer *answer) {
    if (changes == 0) complete(f, keep(f, f->policy));
    for (int j = 0; j <= f->K; j++) {
        if (f->basis[j] < 0 || !(f->weights[j] > NOTHING)) continue;
        complete(f, f->basis[j] < f->cuts.known ? (int)f->basis[j] : keep(f, f->mixed + j * f->n));
    }
    double *at_model = f->base, excess; /* the base is not needed any more */
    memcpy(at_model, f->next, f->K * sizeof(double));
    memcpy(f->model_basis, f->basis, f->m * sizeof(i64));
    memcpy(f->model_weights, f->weights, f->m * sizeof(double));
    int found = mix(f, 0, &excess) == 0 && excess <= ROUNDED;
    Chain *chain = found ? chain_of_mixture(f) : NULL;
    if (chain) {
        answer_with_mixture(f, answer);
        answer->bound = INFINITY;
        for (int turn = 0; turn < 2 && !meets(f, answer); turn++) {
            const double *multiplier = turn == 0 ? f->next : at_model;
            double bound = upper_bound(f, chain, multiplier, allowed);
            if (bound < answer->bound) {
                answer->bound = bound;
                memcpy(answer->multiplier, multiplier, f->K * sizeof(double));
            }
        }
    }
    memcpy(f->next, at_model, f->K * sizeof(double));
    memcpy(f->basis, f->model_basis, f->m * sizeof(i64));
    memcpy(f->weights, f->model_weights, f->m * sizeof(double));
    return chain && meets(f, answer);
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

/* How the steps have gone so far. */
typedef struct {
    i64 changes, history[4]; /* states that changed in the last step, and in those before */
    int exact, with_known;   /* evaluations are exact; policies seen before are cuts */
    int slow;                /* the last solves took long */
    int cut_steps, dear, wild; /* steps with cuts, with costs too high, with multipliers far off */
    int turn;                /* of the mixture's policies, tried one after the other */
} Course;

/* Values, occupancy, advantages and totals of the policy; NO_MEMORY or SOLVED. */
static int look_around(Solve *f, Course *course, int new_ranks, double *allowed) {
    if (new_ranks) rank_states(f->chain, f->dyn, f->policy);
    if (!new_ranks && memcmp(f->other->policy, f->policy, f->n * sizeof(i32)) == 0) {
        Chain *ready = f->other;
        f->other = f->chain, f->chain = ready;
    } else if (chain_of(f->chain, f->dyn, f->policy) < 0)
        return NO_MEMORY;
    double value = inner(f->n, f->dyn->mu, f->x, f->m);
    *allowed = f->gap * larger(fabs(value), f->scale) * (1.0 - f->dyn->gamma);
    int hardest = evaluate_all(f, *allowed, course->exact, course->changes);
    course->slow = hardest < 0 || hardest > SLOW;
    advantages(f->dyn, f->m, f->table, f->x, f->advantage);
    for (int k = 0; k < f->m; k++) f->base[k] = inner(f->n, f->dyn->mu, f->x + k, f->m);
    return SOLVED;
}

/* The smallest gain for which an action is changed: less is allowed for, or rounding. */
static double smallest_gain(const Solve *f, double allowed) {
    double size = 0.0;
    for (int k = 0; k < f->m; k++) {
        double most = 0.0;
        for (i64 s = 0; s < f->n; s++) most = larger(most, fabs(f->x[s * f->m + k]));
        size += most * (k == 0 ? 1.0 : f->multiplier[k - 1]);
    }
    return larger(SMALLEST_GAIN * allowed, RELATIVE_TIE * size);
}

/* Keep the policy as a true cut. */
static void keep_as_cut(Solve *f) {
    for (int j = 0; j <= f->K; j++) f->basis[j] = -1;
    Known *own = &f->kept[keep(f, f->policy)];
    if (own->exact) return;
    own->gain = f->base[0];
    memcpy(own->cost, f->base + 1, f->K * sizeof(double));
}

/* Whether a place of the mixture holds a policy that is not kept. */
static int is_new(const Solve *f, int place) {
    return f->basis[place] >= f->cuts.known && f->weights[place] > NOTHING;
}

/* The heaviest new policy of the mixture, greedy at f->next; `fewest` changes lead to one of them. */
static i32 *heaviest_of_mixture(Solve *f, double tie, i64 *fewest) {
    int heaviest = -1;
    set_prices(f, f->next);
    *fewest = f->n + 1;
    for (int j = 0; j <= f->K; j++) {
        if (!is_new(f, j)) continue;
        mend(f, tie, f->mixed + j * f->n);
        i64 own = differing(f->n, f->mixed + j * f->n, f->policy);
        *fewest = own < *fewest ? own : *fewest;
        if (heaviest < 0 || f->weights[j] > f->weights[heaviest]) heaviest = j;
    }
    if (heaviest >= 0) return f->mixed + heaviest * f->n;
    /* all of the mixture is known: go where the multipliers lead */
    memcpy(f->mixed, f->policy, f->n * sizeof(i32));
    mend(f, tie, f->mixed);
    *fewest = differing(f->n, f->mixed, f->policy);
    return f->mixed;
}

/* How far the multipliers move, as a share of the largest. */
static double movement(const Solve *f) {
    double moved = 0.0, most = DBL_MIN;
    for (int k = 0; k < f->K; k++) {
        moved = larger(moved, fabs(f->next[k] - f->multiplier[k]) * f->peak[k + 1]);
        most = larger(most, f->next[k] * f->peak[k + 1]);
    }
    return moved / most;
}

/* The policy is one of its own mixture, but bound and value do not meet: go on with another one of the
 * mixture, each in its turn. LOST when there is none and true cuts do not help either. */
static int try_another(Solve *f, Course *course) {
    i64 n = f->n;
    int others = 0;
    for (int j = 0; j <= f->K; j++)
        others += is_new(f, j) && differing(n, f->mixed + j * n, f->policy) > 0;
    if (others == 0 && course->with_known) return LOST;
    int target = others ? course->turn++ % others : -1;
    for (int j = 0; j <= f->K && target >= 0; j++)
        if (is_new(f, j) && differing(n, f->mixed + j * n, f->policy) > 0 && target-- == 0)
            memcpy(f->policy, f->mixed + j * n, n * sizeof(i32));
    course->with_known = 1;
    course->changes = 1;
    return SOLVED;
}

/* Half the way only: with several costs full steps may swing round the least value for ever. */
static void damp(Solve *f) {
    for (int k = 0; k < f->K; k++) f->next[k] = 0.5 * (f->next[k] + f->multiplier[k]);
    set_prices(f, f->next);
}

/* On to the policy found: sweeps carry its changes on. */
static void go_on(Solve *f, Course *course, const i32 *policy, i64 changes, double moved, double tie,
                  int step) {
    memcpy(f->policy, policy, f->n * sizeof(i32));
    i64 moving = changes;
    for (int k = 0; k < SWEEPS && moving > FEW; k++)
        moving = sweep(f->dyn, f->m, f->table, f->prices, f->x, f->policy, tie, k % 2 == 0);
    course->changes = changes;
    course->exact = course->exact || (moved < NEAR && changes * MANY < f->n);
    i64 before = course->history[step % 4];
    course->history[step % 4] = changes;
    int circles = step >= 4 && changes < 100 && 2 * changes > before;
    if (course->exact && (changes <= 3 || circles)) course->with_known = 1;
}

/* Newton's method from f->x and f->policy if `warm`, from nothing else. SOLVED with an answer, LOST where
 * another method should take over, or NO_MEMORY. */
int run_newton(Solve *f, int warm, int steps, Answer *answer) {
    i64 n = f->n, fewest;
    Course course = {.changes = n, .history = {n, n, n, n}, .exact = warm, .slow = 1};
    double allowed;
    if (!warm) start(f);
    for (int step = 0; step < steps; step++) {
        answer->steps = step + 1;
        int many = course.changes * MANY > n && !(warm && step == 0);
        if (look_around(f, &course, many || course.slow, &allowed) != SOLVED) return NO_MEMORY;
        double tie = smallest_gain(f, allowed);
        int cutting = course.exact && (course.with_known || step > steps / 2);
        if (cutting && ++course.cut_steps > CUT_STEPS) return LOST;
        if (cutting) keep_as_cut(f);
        int status = find_multipliers(f, tie, cutting);
        course.dear = status == 1 ? course.dear + 1 : 0;
        if (status < 0 || course.dear > TOO_DEAR) return LOST;
        const i32 *policy = heaviest_of_mixture(f, tie, &fewest);
        double moved = movement(f);
        if (moved > 0.5 && ++course.wild > TOO_WILD) return LOST;
        int settled = status == 0 && fewest <= NEARLY;
        if (settled && course.exact && finish(f, allowed, fewest, answer)) return SOLVED;
        if (status == 0 && fewest == 0) {
            if (course.exact && try_another(f, &course) == LOST) return LOST;
            course.exact = 1;
        } else {
            if (moved > 0.5 && course.wild >= WILD) damp(f);
            go_on(f, &course, policy, fewest, moved, tie, step);
        }
        memcpy(f->multiplier, f->next, f->K * sizeof(double));
    }
    return LOST;
}
