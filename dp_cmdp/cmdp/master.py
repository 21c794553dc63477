"""The restricted master program: a dense simplex on K + 1 rows.

Columns are policies with value c_p and costs a_p; the master mixes them:

    max Σ c_p w_p   s.t.   Σ a_p w_p + s = b,   Σ w_p = 1,   w, s ≥ 0.

Phase one adds an elastic column −1 in every cost row and minimises it, which gives the mixture of
least largest excess over b. A basis holds K + 1 names: p ≥ 0 for a policy, −1 − i for the slack of
row i and −1 − K for the elastic column. Rows come scaled so that costs are at most 1 in size.
"""

from __future__ import annotations

import numpy as np

from dp_cmdp.cmdp.krylov import compiled

#: Smallest reduced cost that enters the basis and smallest pivot, in scaled units.
ENTER = 1e-13
PIVOT = 1e-11
PIVOTS = 10_000
#: Pivots after which the first improving column is taken instead of the best.
CAREFUL = 500


@compiled
def entry(costs, name, out):
    """Write the master's column called `name` into `out`."""
    rows = costs.shape[1]
    out[:] = 0.0
    if name >= 0:
        out[:rows] = costs[name]
        out[rows] = 1.0
    elif name == -1 - rows:
        out[:rows] = -1.0
    else:
        out[-1 - name] = 1.0


@compiled
def start_basis(costs, b):
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
    basis = np.empty(rows + 1, np.int64)
    for i in range(rows):
        basis[i] = -1 - i
    if least > 0.0:
        basis[worst] = -1 - rows
    basis[rows] = chosen
    return basis


@compiled
def entering(values, costs, prices, elastic, careful):
    """Name of the column to enter, or the number of policies when none improves."""
    rows = costs.shape[1]
    best, name = ENTER, values.size
    for i in range(rows):
        if -prices[i] > best:
            best, name = -prices[i], -1 - i
    for p in range(values.size):
        if careful and name != values.size:
            break
        reduced = (0.0 if elastic else values[p]) - prices[rows]
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
        matrix[:, j] = column
    return matrix


@compiled
def simplex(values, costs, b, basis, elastic):
    """Optimise from a feasible basis, in place; return its weights and the prices of the rows."""
    rows = b.size
    column = np.empty(rows + 1)
    gain = np.zeros(rows + 1)
    right = np.ones(rows + 1)
    right[:rows] = b
    solution, prices = right, right
    for pivot in range(PIVOTS):
        for j in range(rows + 1):
            if elastic:
                gain[j] = -1.0 if basis[j] == -1 - rows else 0.0
            else:
                gain[j] = values[basis[j]] if basis[j] >= 0 else 0.0
        inverse = np.linalg.inv(basis_matrix(costs, basis))
        solution = inverse @ right
        prices = gain @ inverse
        name = entering(values, costs, prices, elastic, pivot > CAREFUL)
        if name == values.size:
            break
        entry(costs, name, column)
        row = leaving(solution, inverse @ column, basis, -1 - rows)
        if row < 0:
            break
        basis[row] = name
    return solution, prices


@compiled
def drive_out(costs, basis):
    """Exchange an elastic column at level zero for the slack with the largest pivot."""
    rows = costs.shape[1]
    inverse = np.linalg.inv(basis_matrix(costs, basis))
    for row in range(rows + 1):
        if basis[row] == -1 - rows:
            best, name = 0.0, basis[row]
            for i in range(rows):
                if abs(inverse[row, i]) > best and -1 - i not in basis:
                    best, name = abs(inverse[row, i]), -1 - i
            basis[row] = name
