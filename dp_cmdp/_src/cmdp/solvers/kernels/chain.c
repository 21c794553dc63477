/* One policy's Markov chain, solved both ways: values and occupancy.
 *
 * Under a policy pi the values solve (I - gamma T_pi) v = r_pi, and the occupancy of the states solves
 * (I - gamma T_pi') y = mu. The matrix is a row-dominant M-matrix: it can be eliminated in any symmetric
 * order without pivoting, and stays one when fill is dropped. States are renumbered by their depth in the
 * forest of likeliest successors, incomplete factors (ILUT) drop what is small, and BiCGSTAB does the
 * rest. Answers are judged by their recomputed residual, never by the recurrence's.
 */
#include "kernels.h"

/* A residual of this size, relative to the solution, is rounding. */
#define ROUNDING 1e-15
/* Steps of one run of BiCGSTAB, and runs at most. */
#define RUN 150
#define RUNS 12
/* Factors drop entries below these, and may hold so many times the non-zeros of the chain (grids: 20
 * products per solve at 3e-3, 37 at 1e-2, 147 without factors; below 3e-3 the factors take longer).
 * Well-mixed graphs fill up and go to grade 2, where only the diagonal is mended. Grades 3 and 4 are for
 * chains on which BiCGSTAB has failed: nearly exact factors, then exact ones, with room for those of
 * planar graphs. */
static const double DROP[] = {3e-3, 3e-2, 0.0, 1e-4, 0.0, 1e-5};
static const double ROOM[] = {4.0, 3.0, 1.0, 20.0, 100.0, 2.0};
#define DIAGONAL_ONLY 2
#define LAST_GRADE 4
/* Where a solve of grade 0 takes more steps than these, rare ways count: groups that hardly meet, at a discount
 * near 1 (27 steps of 392 solves on a ring of cliques, 2 with it). Grade 5 keeps them; it is tried once, and
 * taken where its factors fit twice the chain, as those of groups and lines do. */
#define SLIM 5
#define TOO_MANY 12
/* Factors serve another policy that differs in so few states: every one of them takes a step or two more,
 * new factors as long as three. */
#define STALE 2

/* No factors yet, whatever was solved before. */
void forget_factors(Chain *c) { c->factored[0] = c->policy[0] = -1; }

EXPORT Chain *chain_new(i64 n, i64 room) {
    Chain *c = calloc(1, sizeof(Chain));
    if (!c) return NULL;
    c->n = n;
    c->room = room;
    c->policy = malloc(n * sizeof(i32));
    c->factored = malloc(n * sizeof(i32));
    c->rank = malloc(n * sizeof(u32));
    c->start = malloc((n + 1) * sizeof(i64));
    c->middle = malloc(n * sizeof(i64));
    c->column = malloc(room * sizeof(u32));
    c->weight = malloc(room * sizeof(double));
    c->diagonal = malloc(n * sizeof(double));
    c->lower_start = malloc((n + 1) * sizeof(i64));
    c->upper_start = malloc((n + 1) * sizeof(i64));
    c->work = malloc(9 * n * sizeof(double));
    c->marks = malloc(3 * n * sizeof(u32));
    if (!c->policy || !c->factored || !c->rank || !c->start || !c->middle || !c->column || !c->weight || !c->diagonal ||
        !c->lower_start || !c->upper_start || !c->work || !c->marks) {
        chain_free(c);
        return NULL;
    }
    natural_order(c);
    return c;
}

EXPORT void chain_free(Chain *c) {
    if (!c) return;
    void *parts[] = {c->policy, c->factored, c->rank, c->start, c->middle, c->column, c->weight, c->diagonal,
                     c->lower_start, c->upper_start, c->lower, c->upper, c->lower_value,
                     c->upper_value, c->work, c->marks};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) free(parts[k]);
    free(c);
}

/* Non-zeros that the chain of any policy may have. */
EXPORT i64 chain_room(const Dynamics *dyn) {
    i64 room = 0;
    for (i64 s = 0; s < dyn->num_states; s++) {
        u32 most = 0;
        for (i64 p = s * dyn->num_actions; p < (s + 1) * dyn->num_actions; p++) {
            u32 length = dyn->indptr[p + 1] - dyn->indptr[p];
            most = length > most ? length : most;
        }
        room += most;
    }
    return room;
}

EXPORT void natural_order(Chain *c) {
    for (i64 s = 0; s < c->n; s++) c->rank[s] = (u32)s;
    forget_factors(c);
}

/* Rank the states by their depth in the forest of likeliest successors; cycles are cut anywhere. */
EXPORT int rank_states(Chain *c, const Dynamics *dyn, const i32 *policy) {
    i64 n = dyn->num_states;
    i32 *depth = (i32 *)c->marks, *path = (i32 *)c->marks + n, *begin = calloc(n + 1, sizeof(i32));
    if (!begin) return -1;
    for (i64 s = 0; s < n; s++) depth[s] = -1;
    for (i64 root = 0; root < n; root++) {
        i64 length = 0, state = root;
        while (depth[state] == -1) {
            depth[state] = -2;
            path[length++] = (i32)state;
            i64 pair = state * dyn->num_actions + policy[state], next = state;
            double likeliest = 0.0;
            for (u32 k = dyn->indptr[pair]; k < dyn->indptr[pair + 1]; k++)
                if (dyn->data[k] > likeliest && dyn->indices[k] != (u32)state) {
                    likeliest = dyn->data[k];
                    next = dyn->indices[k];
                }
            state = next;
        }
        i32 level = depth[state] > -1 ? depth[state] : -1;
        while (length > 0) depth[path[--length]] = ++level;
    }
    for (i64 s = 0; s < n; s++) begin[depth[s] + 1]++;
    for (i64 i = 0; i < n; i++) begin[i + 1] += begin[i];
    for (i64 s = 0; s < n; s++) c->rank[s] = (u32)begin[depth[s]]++;
    forget_factors(c);
    free(begin);
    return 0;
}

/* Incomplete factors of one grade; 0, or -1 when they do not fit their room, or memory is short. */
static int factors(Chain *c, int grade) {
    i64 n = c->n, wanted = (i64)(ROOM[grade] * (double)c->start[n]) + 2 * n, found = 0, above = 0;
    if (c->factor_room < wanted) {
        free(c->lower), free(c->upper), free(c->lower_value), free(c->upper_value);
        c->lower = malloc(wanted * sizeof(u32)), c->upper = malloc(wanted * sizeof(u32));
        c->lower_value = malloc(wanted * sizeof(double));
        c->upper_value = malloc(wanted * sizeof(double));
        c->factor_room = c->lower && c->upper && c->lower_value && c->upper_value ? wanted : 0;
        if (!c->factor_room) return -1;
    }
    double drop = DROP[grade], *row = c->work;
    int mends_diagonal_only = grade == DIAGONAL_ONLY;
    u32 *mark = c->marks, *heap = mark + n, *right = mark + 2 * n;
    for (i64 i = 0; i < n; i++) mark[i] = UINT32_MAX, row[i] = 0.0;
    c->lower_start[0] = c->upper_start[0] = 0;
    for (i64 i = 0; i < n; i++) {
        i64 below = 0, beyond = 0; /* columns still to be eliminated (a heap), columns kept above */
        double pivot = c->diagonal[i];
#define PUT(k)                                                                       \
    do {                                                                             \
        mark[k] = (u32)i;                                                            \
        if ((k) < (u32)i) {                                                          \
            i64 h = below++;                                                         \
            while (h && heap[(h - 1) / 2] > (k)) heap[h] = heap[(h - 1) / 2], h = (h - 1) / 2; \
            heap[h] = (k);                                                           \
        } else                                                                       \
            right[beyond++] = (k);                                                   \
    } while (0)
        for (i64 j = c->start[i]; j < c->start[i + 1]; j++) {
            u32 k = c->column[j];
            if (c->weight[j] == 0.0) continue;
            if (mark[k] != (u32)i) {
                row[k] = 0.0;
                PUT(k);
            }
            row[k] += c->weight[j]; /* entries of -M, which are not negative */
        }
        while (below) {
            u32 k = heap[0], last = heap[--below];
            i64 h = 0;
            for (i64 child; (child = 2 * h + 1) < below; h = child) {
                if (child + 1 < below && heap[child + 1] < heap[child]) child++;
                if (heap[child] >= last) break;
                heap[h] = heap[child];
            }
            if (below) heap[h] = last;
            double factor = row[k] * c->upper_value[c->upper_start[k]];
            if (factor < drop || factor == 0.0) continue;
            if (found >= wanted) return -1;
            c->lower[found] = k, c->lower_value[found++] = factor;
            for (i64 j = c->upper_start[k] + 1; j < c->upper_start[k + 1]; j++) {
                u32 l = c->upper[j];
                double value = factor * c->upper_value[j];
                if (l == (u32)i) {
                    pivot -= value;
                    continue;
                }
                if (mark[l] != (u32)i) {
                    if (mends_diagonal_only || value < 0.1 * drop) continue;
                    row[l] = 0.0;
                    PUT(l);
                } else if (mends_diagonal_only)
                    continue;
                row[l] += value;
            }
        }
        if (above + beyond + 1 > wanted) return -1;
        c->upper[above] = (u32)i, c->upper_value[above++] = 1.0 / pivot;
        for (i64 j = 0; j < beyond; j++) {
            u32 k = right[j];
            if (row[k] >= drop && row[k] > 0.0) c->upper[above] = k, c->upper_value[above++] = row[k];
        }
        c->lower_start[i + 1] = found, c->upper_start[i + 1] = above;
#undef PUT
    }
    return 0;
}

/* Factors of the present grade, or of the first easier one that fits. */
static int factorise(Chain *c) {
    memcpy(c->factored, c->policy, c->n * sizeof(i32));
    for (;;) {
        if (factors(c, c->grade) == 0) return 0;
        if (c->grade == SLIM) c->grade = 0;
        else if (c->grade > DIAGONAL_ONLY) c->grade = DIAGONAL_ONLY;
        else if (c->grade < DIAGONAL_ONLY) c->grade++;
        else return -1;
    }
}

/* The chain of a policy by the present ranks, with its factors, or those of a policy that differs in few
 * states, if it has them; T is read row after row. */
EXPORT int chain_of(Chain *c, const Dynamics *dyn, const i32 *policy) {
    i64 n = c->n, changes = 0;
    memcpy(c->policy, policy, n * sizeof(i32));
    for (i64 s = 0; s < n; s++) changes += policy[s] != c->factored[s];
    for (i64 s = 0; s < n; s++) {
        i64 pair = s * dyn->num_actions + policy[s];
        c->start[c->rank[s] + 1] = dyn->indptr[pair + 1] - dyn->indptr[pair];
    }
    c->start[0] = 0;
    for (i64 i = 0; i < n; i++) c->start[i + 1] += c->start[i];
    for (i64 s = 0; s < n; s++) {
        i64 pair = s * dyn->num_actions + policy[s], i = c->rank[s];
        i64 low = c->start[i], high = c->start[i + 1];
        double stay = 0.0;
        for (u32 k = dyn->indptr[pair]; k < dyn->indptr[pair + 1]; k++) {
            u32 j = c->rank[dyn->indices[k]];
            double weight = dyn->gamma * dyn->data[k];
            i64 place = j < (u32)i ? low++ : --high;
            c->column[place] = j;
            c->weight[place] = j == (u32)i ? 0.0 : weight;
            stay += j == (u32)i ? weight : 0.0;
        }
        c->middle[i] = low;
        c->diagonal[i] = 1.0 - stay;
    }
    return changes > STALE || c->factored[0] < 0 ? factorise(c) : 0;
}

static void precondition(const Chain *c, const double *t, double *z, int way) {
    i64 n = c->n;
    const i64 *ls = c->lower_start, *us = c->upper_start;
    if (way == PULL) {
        for (i64 i = 0; i < n; i++) {
            double sum = t[i];
            for (i64 j = ls[i]; j < ls[i + 1]; j++) sum += c->lower_value[j] * z[c->lower[j]];
            z[i] = sum;
        }
        for (i64 i = n - 1; i >= 0; i--) {
            double sum = z[i];
            for (i64 j = us[i] + 1; j < us[i + 1]; j++) sum += c->upper_value[j] * z[c->upper[j]];
            z[i] = sum * c->upper_value[us[i]];
        }
        return;
    }
    memcpy(z, t, n * sizeof(double));
    for (i64 i = 0; i < n; i++) {
        double mass = z[i] * c->upper_value[us[i]];
        z[i] = mass;
        if (mass == 0.0) continue;
        for (i64 j = us[i] + 1; j < us[i + 1]; j++) z[c->upper[j]] += c->upper_value[j] * mass;
    }
    for (i64 i = n - 1; i >= 0; i--) {
        double mass = z[i];
        if (mass == 0.0) continue;
        for (i64 j = ls[i]; j < ls[i + 1]; j++) z[c->lower[j]] += c->lower_value[j] * mass;
    }
}

/* out = M x, or M' x. */
static void apply(const Chain *c, const double *x, double *out, int way) {
    i64 n = c->n;
    if (way == PULL) {
        for (i64 i = 0; i < n; i++) {
            double sum = c->diagonal[i] * x[i];
            for (i64 j = c->start[i]; j < c->start[i + 1]; j++) sum -= c->weight[j] * x[c->column[j]];
            out[i] = sum;
        }
        return;
    }
    for (i64 i = 0; i < n; i++) out[i] = c->diagonal[i] * x[i];
    for (i64 i = 0; i < n; i++)
        for (i64 j = c->start[i]; j < c->start[i + 1]; j++) out[c->column[j]] -= c->weight[j] * x[i];
}

static double dot(i64 n, const double *a, const double *b) {
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    i64 i = 0;
    for (; i + 4 <= n; i += 4) {
        s0 += a[i] * b[i], s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2], s3 += a[i + 3] * b[i + 3];
    }
    for (; i < n; i++) s0 += a[i] * b[i];
    return (s0 + s1) + (s2 + s3);
}

/* The largest entry of values, the sum of mass; infinite when an entry is not finite. */
static double size_of(i64 n, const double *x, int way) {
    double sum = 0.0, most = 0.0;
    for (i64 i = 0; i < n; i++) {
        double size = fabs(x[i]);
        sum += size;
        most = size > most ? size : most;
    }
    return !isfinite(sum) ? INFINITY : way == PUSH ? sum : most;
}

static double residual_of(const Chain *c, const double *b, const double *x, double *r, int way) {
    apply(c, x, r, way);
    for (i64 i = 0; i < c->n; i++) r[i] = b[i] - r[i];
    return size_of(c->n, r, way);
}

/* A run of BiCGSTAB on x, from its residual; returns the steps. */
static int bicgstab(const Chain *c, double *x, double *r, double tolerance, int way) {
    i64 n = c->n;
    double *shadow = c->work + n, *p = c->work + 2 * n, *q = c->work + 3 * n, *z = c->work + 4 * n;
    double *y = c->work + 5 * n, *t = c->work + 6 * n, rho = 1.0, alpha = 1.0, omega = 1.0;
    memcpy(shadow, r, n * sizeof(double));
    memset(p, 0, n * sizeof(double));
    memset(q, 0, n * sizeof(double));
    int steps = 0;
    while (steps < RUN) {
        double before = rho;
        rho = dot(n, shadow, r);
        double beta = rho / before * alpha / omega;
        if (rho == 0.0 || !isfinite(beta)) break;
        for (i64 i = 0; i < n; i++) p[i] = r[i] + beta * (p[i] - omega * q[i]);
        precondition(c, p, z, way);
        apply(c, z, q, way);
        alpha = rho / dot(n, shadow, q);
        if (!isfinite(alpha)) break;
        for (i64 i = 0; i < n; i++) r[i] -= alpha * q[i];
        steps++;
        if (size_of(n, r, way) <= tolerance) {
            for (i64 i = 0; i < n; i++) x[i] += alpha * z[i];
            break;
        }
        precondition(c, r, y, way);
        apply(c, y, t, way);
        double power = dot(n, t, t);
        omega = power > 0.0 ? dot(n, t, r) / power : 0.0;
        for (i64 i = 0; i < n; i++) x[i] += alpha * z[i] + omega * y[i], r[i] -= omega * t[i];
        steps++;
        double size = size_of(n, r, way);
        if (size <= tolerance || !isfinite(size) || omega == 0.0) break;
    }
    return steps;
}

/* Solve M x = b (or M' x = b) from the guess x, in place, until the residual is at most `tolerance`, or
 * `shrink` times that of the guess; returns the steps, or -1 when that is not reached. */
EXPORT int solve_chain(Chain *c, const double *b, double *x, double tolerance, double shrink, int way) {
    i64 n = c->n;
    double *r = c->work, *trial = c->work + 7 * n, size = residual_of(c, b, x, r, way);
    int steps = 0;
    if (!isfinite(size)) { /* no guess at all */
        memset(x, 0, n * sizeof(double));
        size = residual_of(c, b, x, r, way);
    }
    tolerance = shrink * size > tolerance ? shrink * size : tolerance;
    for (int run = 0; run < RUNS; run++) {
        double rounding = ROUNDING * size_of(n, x, way);
        if (size <= tolerance || size <= rounding) return steps;
        memcpy(trial, x, n * sizeof(double));
        steps += bicgstab(c, trial, r, tolerance > 0.5 * rounding ? tolerance : 0.5 * rounding, way);
        double improved = residual_of(c, b, trial, r, way);
        if (improved < size) {
            memcpy(x, trial, n * sizeof(double));
            if (improved > 0.5 * size) {
                size = improved;
                break;
            }
            size = improved;
        } else
            break;
    }
    return size <= tolerance || size <= 100.0 * ROUNDING * size_of(n, x, way) ? steps : -1;
}

/* Solve by better and better factors where the present ones do not do. */
static int solve_stubbornly(Chain *c, const double *b, double *x, double tolerance, double shrink,
                            int way) {
    int steps = solve_chain(c, b, x, tolerance, shrink, way), gone = 0;
    if (steps > TOO_MANY && c->grade == 0 && !c->tried_slim) {
        c->tried_slim = 1;
        c->grade = SLIM;
        factorise(c);
    }
    if (steps < 0 && memcmp(c->factored, c->policy, c->n * sizeof(i32)) != 0 && factorise(c) == 0)
        steps = solve_chain(c, b, x, tolerance, shrink, way);
    for (int grade = DIAGONAL_ONLY + 1; steps < 0 && grade <= LAST_GRADE; grade++) {
        if (grade <= c->grade && c->grade != SLIM) continue;
        gone = factors(c, grade) < 0;
        if (gone) continue;
        c->grade = grade;
        steps = solve_chain(c, b, x, tolerance, shrink, way);
    }
    if (gone) factorise(c); /* a failed try has overwritten the factors of the present grade */
    return steps;
}

/* Values of the policy under one column of a table, from the guess v (both `stride` apart), in place. */
EXPORT int evaluate(Chain *c, i64 actions, i64 stride, const double *table, const i32 *policy,
                    double *v, double tolerance, double shrink) {
    i64 n = c->n;
    double *b = calloc(2 * n, sizeof(double)), *x = b + n;
    if (!b) return -1;
    for (i64 s = 0; s < n; s++) {
        b[c->rank[s]] = table[(s * actions + policy[s]) * stride];
        x[c->rank[s]] = v[s * stride];
    }
    int steps = solve_stubbornly(c, b, x, tolerance, shrink, PULL);
    for (i64 s = 0; s < n; s++) v[s * stride] = x[c->rank[s]];
    free(b);
    return steps;
}

/* State occupancy of the policy, from the guess y, in place. */
EXPORT int occupy(Chain *c, const double *mu, double *y, double tolerance) {
    i64 n = c->n;
    double *b = calloc(2 * n, sizeof(double)), *x = b + n;
    if (!b) return -1;
    for (i64 s = 0; s < n; s++) b[c->rank[s]] = mu[s], x[c->rank[s]] = y[s];
    int steps = solve_stubbornly(c, b, x, tolerance, 0.0, PUSH);
    for (i64 s = 0; s < n; s++) y[s] = x[c->rank[s]] > 0.0 ? x[c->rank[s]] : 0.0;
    free(b);
    return steps;
}
