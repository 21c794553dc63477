"""The restricted master program: a dense simplex on K + 1 rows.

Columns are policies with value c_p and costs a_p; the master mixes them:

    max Σ c_p w_p   s.t.   Σ a_p w_p + s = b,   Σ w_p = 1,   w, s ≥ 0.

Phase one adds an elastic column −1 in every cost row and minimises it, which gives the mixture of
least largest excess over b. A basis holds K + 1 names: p ≥ 0 for a policy, −1 − i for the slack of
row i and −1 − K for the elastic column. Rows come scaled so that costs are at most 1 in size.
"""

from __future__ import annotations

import numpy as np

from dp_cmdp.cmdp.solvers.krylov import compiled

#: Smallest reduced cost that enters the basis and smallest pivot, in scaled units.
ENTER = 1e-13
PIVOT = 1e-11
#: Pivots of one master program at most: only rounding makes it circle.
PIVOTS = 10_000
#: Pivots after which the first improving column is taken instead of the best.
CAREFUL = 500


@compiled
def entry(costs, name, out):
    """Write the master's column called `name` into `out`."""
    rows = costs.shape[1]
    for i in range(rows):
        if name >= 0:
            out[i] = costs[name, i]
        elif name == -1 - rows:
            out[i] = -1.0
        else:
            out[i] = 1.0 if i == -1 - name else 0.0
    out[rows] = 1.0 if name >= 0 else 0.0


@compiled
def start_basis(costs, b, basis):
    """The basis of the policy of least largest excess, elastic when that excess is positive."""
    rows = b.size
    least, chosen, worst = np.inf, 0, 0
    for p in range(costs.shape[0]):
        excess, row = -np.inf, 0
        for i in range(rows):
            if costs[p, i] - b[i] > excess:
                excess, row = costs[p, i] - b[i], i
        if excess < least:
            least, chosen, worst = excess, p, row
    for i in range(rows):
        basis[i] = -1 - i
    if least > 0.0:
        basis[worst] = -1 - rows
    basis[rows] = chosen


@compiled
def entering(gains, costs, prices, careful):
    """Name of the column to enter, or the number of policies when none improves."""
    rows = costs.shape[1]
    best, name = ENTER, gains.size
    for i in range(rows):
        if -prices[i] > best:
            best, name = -prices[i], -1 - i
    for p in range(gains.size):
        if careful and name != gains.size:
            break
        reduced = gains[p] - prices[rows]
        for i in range(rows):
            reduced -= prices[i] * costs[p, i]
        if reduced > best:
            best, name = reduced, p
    return name


@compiled
def leaving(solution, direction, basis, elastic_name):
    """Row of the ratio test, −1 when unbounded; the elastic column leaves as soon as it can."""
    row, least = -1, np.inf
    for i in range(solution.size):
        if direction[i] > PIVOT:
            ratio = max(solution[i], 0.0) / direction[i]
            tied = abs(ratio - least) <= 1e-14 and (
                basis[i] == elastic_name or direction[i] > direction[row]
            )
            if ratio < least - 1e-14 or tied:
                row, least = i, ratio
    return row


@compiled
def basis_matrix(costs, basis):
    """The basis columns, side by side."""
    matrix = np.empty((basis.size, basis.size))
    column = np.empty(basis.size)
    for j in range(basis.size):
        entry(costs, basis[j], column)
        for i in range(basis.size):
            matrix[i, j] = column[i]
    return matrix


@compiled
def inverse_of(matrix):
    """Gauss–Jordan elimination with partial pivoting; a singular matrix gives no finite inverse."""
    size = len(matrix)
    work = np.zeros((size, 2 * size))
    for i in range(size):
        work[i, size + i] = 1.0
        for j in range(size):
            work[i, j] = matrix[i, j]
    for i in range(size):
        pivot = i
        for row in range(i + 1, size):
            if abs(work[row, i]) > abs(work[pivot, i]):
                pivot = row
        largest = work[pivot, i]
        for j in range(2 * size):
            upper = work[pivot, j] / largest
            work[pivot, j] = work[i, j]
            work[i, j] = upper
        for row in range(size):
            factor = work[row, i]
            for j in range(2 * size):
                if row != i:
                    work[row, j] -= factor * work[i, j]
    inverse = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            inverse[i, j] = work[i, size + j]
    return inverse


@compiled
def product(matrix, vector, out):
    """out = matrix @ vector, without a library call for so few numbers."""
    for i in range(out.size):
        total = 0.0
        for j in range(vector.size):
            total += matrix[i, j] * vector[j]
        out[i] = total


@compiled
def has(basis, name):
    """Whether a name is in the basis."""
    found = False
    for j in range(basis.size):
        found |= basis[j] == name
    return found


@compiled
def simplex(values, unit, costs, b, basis, weights, prices):
    """Optimise from a feasible basis, in place; write its weights and the prices of the rows.

    Values count in units of `unit`. With the elastic column in the basis this is phase one, in
    which policies gain nothing. `costs` may have more rows than there are values.
    """
    rows, elastic = b.size, has(basis, -1 - b.size)
    column, direction, gain = np.empty(rows + 1), np.empty(rows + 1), np.empty(rows + 1)
    right, gains = np.ones(rows + 1), np.empty(values.size)
    for i in range(rows):
        right[i] = b[i]
    for p in range(values.size):
        gains[p] = 0.0 if elastic else values[p] / unit
    for pivot in range(PIVOTS):
        for j in range(rows + 1):
            gain[j] = gains[basis[j]] if basis[j] >= 0 else -1.0 if basis[j] == -1 - rows else 0.0
        inverse = inverse_of(basis_matrix(costs, basis))
        product(inverse, right, weights)
        for i in range(rows + 1):
            prices[i] = 0.0
            for j in range(rows + 1):
                prices[i] += gain[j] * inverse[j, i]
        name = entering(gains, costs, prices, pivot > CAREFUL)
        if name == values.size:
            break
        entry(costs, name, column)
        product(inverse, column, direction)
        row = leaving(weights, direction, basis, -1 - rows)
        if row < 0:
            break
        basis[row] = name


@compiled
def drive_out(costs, basis):
    """Exchange an elastic column at level zero for the slack with the largest pivot."""
    rows = costs.shape[1]
    inverse = inverse_of(basis_matrix(costs, basis))
    for row in range(rows + 1):
        if basis[row] == -1 - rows:
            best, name = 0.0, basis[row]
            for i in range(rows):
                if abs(inverse[row, i]) > best and not has(basis, -1 - i):
                    best, name = abs(inverse[row, i]), -1 - i
            basis[row] = name
