"""The largest mean value, when answers violate each of several neighbours with a known chance.

    max{Σ_S p_S V(S) : Σ_S p_S = 1,  Σ_{S∋j} p_S ≤ chance_j for every j,  p ≥ 0}

V(S) is bounded by multipliers of rows (:mod:`dp_cmdp.theory.guarded_program`); if those of the
neighbours in N prove it, it bounds V(T) of every T without members of N. The program is solved with
such bounds, and V is computed for the sets S that its solution uses, until it has been for all of
them: not for all of the 2^J. The result is read off the dual side. So whatever the solver's
rounding, and wherever the search stops, the bound is valid.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.linear_program import LinearProgram, solve
from dp_cmdp.theory.guarded_program import GuardedProgram

#: Sets of smaller probability count as unused.
USED = 1e-9
#: Sets are no longer looked at when the last ones lowered the bound by less, of the loss it shows.
SETTLED = 1e-3
#: Room for rounding in sums of up to 13 numbers, relative to their sizes.
SUM_ROOM = 2.0**-48


def largest_mean(case: GuardedProgram, chances: FloatArray) -> tuple[float, float]:
    """Upper bounds of the mean value and of V(∅).

    Raises
    ------
    InvalidArgumentError
        When not even V of all neighbours, the optimum, can be bounded.

    Notes
    -----
    **Paper.** Ours. **Privacy.** *Curator only*.
    """
    count = chances.size
    sets = np.arange(1 << count)
    member = (sets[:, None] >> np.arange(count) & 1).astype(np.float64)
    values = np.full(sets.size, np.inf)
    _learn(case, values, sets.size - 1)
    if not np.isfinite(values).all():
        raise InvalidArgumentError(
            "the value of the program cannot be bounded in exact arithmetic; state finite bounds "
            "of its variables (lower, upper)"
        )
    _learn(case, values, 0)
    known, bound, used = {sets.size - 1, 0}, *_master(values, member, chances)
    while new := [int(chosen) for chosen in np.flatnonzero(used > USED) if chosen not in known]:
        before = values[new]
        for chosen in new:
            _learn(case, values, chosen)
        known.update(new)
        gained = float(used[new] @ (before - values[new]))
        bound, used = _master(values, member, chances)
        if gained <= SETTLED * (values[-1] - bound):
            break
    return bound, float(values[0])


def _learn(case: GuardedProgram, values: FloatArray, chosen: int) -> None:
    """Bound V of a set, and with it V of all sets without the neighbours that prove the bound."""
    ignored = [j for j in range(chosen.bit_length()) if chosen >> j & 1]
    found, needed = case.upper_bound(ignored)
    holds = (np.arange(values.size) & sum(1 << int(j) for j in needed)) == 0
    if math.isfinite(found):
        values[holds] = np.minimum(values[holds], found)


def _master(
    values: FloatArray, member: FloatArray, chances: FloatArray
) -> tuple[float, FloatArray]:
    """The dual value of the program over sets, rounded up, and the optimal probabilities."""
    gain = values - values[0]
    if not gain.any():
        return float(values[0]), np.zeros(values.size)
    lp = LinearProgram(
        gain / gain.max(),
        sparse.csr_array(member.T),
        b=chances,
        A_eq=np.ones((1, values.size)),
        b_eq=[1.0],
    )
    found = solve(lp, certify=False)
    y = found.dual * gain.max()
    u = float((values - member @ y).max())
    room = SUM_ROOM * (float(np.abs(values).max()) + float(y.sum()))
    bound = u + float(chances @ y) + room
    return min(bound, float(values[-1])), found.x
