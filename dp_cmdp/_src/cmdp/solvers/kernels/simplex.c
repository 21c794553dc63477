/* A dense simplex for a few rows: the best mixture of columns.
 *
 *     max gains'w + slack_gain's - elastic_cost'z
 *     s.t.  columns'w + s - z = right (limited rows),   columns'w = right (the others),   w, s, z >= 0.
 *
 * Slack gains and elastic costs are bounds on the prices of the limited rows: between them the prices are
 * free. A basis names column p by p >= 0, the slack of row i by -1 - i, its elastic column by -1 - rows - i.
 */
#include "kernels.h"

/* Smallest reduced gain that enters, relative to its terms; smallest pivot and ratios taken for equal. */
#define ENTER 1e-13
#define PIVOT 1e-11
#define TIED 1e-14
/* Pivots at most, and pivots after which the first improving column is taken: only rounding circles. */
#define PIVOTS 10000
#define CAREFUL 500

static void column_of(const Mixing *x, i64 name, double *out) {
    for (int i = 0; i < x->rows; i++) out[i] = name >= 0 ? x->columns[name * x->rows + i] : 0.0;
    if (name < 0 && name >= -x->rows) out[-1 - name] = 1.0;
    if (name < -x->rows) out[-1 - x->rows - name] = -1.0;
}

static double gain_of(const Mixing *x, i64 name) {
    if (name >= 0) return x->gains[name];
    return name >= -x->rows ? x->slack_gain[-1 - name] : -x->elastic_cost[-1 - x->rows - name];
}

/* One column, with slack where it leaves room and elastic columns where it does not. */
void start_basis(const Mixing *x, i64 column, i64 *basis) {
    for (int i = 0; i < x->limited; i++) {
        double used = column < 0 ? 0.0 : x->columns[column * x->rows + i];
        basis[i] = used <= x->right[i] ? -1 - i : -1 - x->rows - i;
    }
    if (x->rows > x->limited) basis[x->limited] = column;
}

/* Invert the basis by Gauss-Jordan elimination with partial pivoting; -1 when it is singular. */
static int invert(const Mixing *x, const i64 *basis, double *work, double *column) {
    int n = x->rows, width = 2 * n;
    for (int j = 0; j < n; j++) {
        column_of(x, basis[j], column);
        for (int i = 0; i < n; i++) {
            work[i * width + j] = column[i];
            work[i * width + n + j] = i == j;
        }
    }
    for (int i = 0; i < n; i++) {
        int pivot = i;
        for (int r = i + 1; r < n; r++)
            if (fabs(work[r * width + i]) > fabs(work[pivot * width + i])) pivot = r;
        double most = work[pivot * width + i];
        if (!(fabs(most) > 0.0)) return -1;
        for (int j = 0; j < width; j++) {
            double upper = work[pivot * width + j] / most;
            work[pivot * width + j] = work[i * width + j];
            work[i * width + j] = upper;
        }
        for (int r = 0; r < n; r++) {
            double factor = work[r * width + i];
            if (r != i && factor != 0.0)
                for (int j = 0; j < width; j++) work[r * width + j] -= factor * work[i * width + j];
        }
    }
    return 0;
}

static int is_basic(const Mixing *x, const i64 *basis, i64 name) {
    for (int j = 0; j < x->rows; j++)
        if (basis[j] == name) return 1;
    return 0;
}

/* Name of the column to enter; INT64_MAX when none improves by more than rounding. Basic columns gain
 * nothing, whatever rounding says. */
static i64 entering(const Mixing *x, const i64 *basis, const double *prices, int careful) {
    double best = 0.0;
    i64 name = INT64_MAX;
    for (int i = 0; i < 2 * x->limited; i++) {
        int row = i / 2, elastic = i % 2;
        double gain = elastic ? prices[row] - x->elastic_cost[row] : x->slack_gain[row] - prices[row];
        i64 own = elastic ? -1 - x->rows - row : -1 - row;
        if (gain > fmax(best, ENTER * fabs(prices[row])) && !is_basic(x, basis, own))
            best = gain, name = own;
    }
    for (i64 p = 0; p < x->count; p++) {
        if (careful && name != INT64_MAX) break;
        double reduced = x->gains[p], size = fabs(reduced);
        for (int i = 0; i < x->rows; i++) {
            double paid = prices[i] * x->columns[p * x->rows + i];
            reduced -= paid;
            size += fabs(paid);
        }
        if (reduced > fmax(best, ENTER * size) && !is_basic(x, basis, p)) best = reduced, name = p;
    }
    return name;
}

/* Optimise from a feasible basis, in place; writes its weights and the prices of the rows. Returns 0, or
 * -1 where there is no optimum. */
EXPORT int simplex(const Mixing *x, i64 *basis, double *weights, double *prices) {
    int n = x->rows, status = -1;
    double *work = malloc((2 * n * n + 2 * n) * sizeof(double)), *column = work + 2 * n * n;
    double *direction = column + n;
    if (!work) return -1;
    for (int pivot = 0; pivot < PIVOTS; pivot++) {
        if (invert(x, basis, work, column) < 0) break;
        for (int i = 0; i < n; i++) weights[i] = prices[i] = 0.0;
        for (int j = 0; j < n; j++) {
            double gain = gain_of(x, basis[j]);
            for (int i = 0; i < n; i++) {
                double inverse = work[j * 2 * n + n + i];
                weights[j] += inverse * x->right[i];
                prices[i] += gain * inverse;
            }
        }
        i64 name = entering(x, basis, prices, pivot > CAREFUL);
        if (name == INT64_MAX) {
            status = 0;
            break;
        }
        column_of(x, name, column);
        int row = -1;
        double least = INFINITY;
        for (int j = 0; j < n; j++) {
            direction[j] = 0.0;
            for (int i = 0; i < n; i++) direction[j] += work[j * 2 * n + n + i] * column[i];
            if (direction[j] <= PIVOT) continue;
            double ratio = (weights[j] > 0.0 ? weights[j] : 0.0) / direction[j];
            int tied = fabs(ratio - least) <= TIED && direction[j] > direction[row];
            if (ratio < least - TIED || tied) row = j, least = ratio;
        }
        if (row < 0) { /* a gain of rounding size */
            status = 0;
            break;
        }
        basis[row] = name;
    }
    free(work);
    return status;
}
