"""What a cost of a state is charged on: acting in it, entering it, or one action in it.

**Occupying.** cost(s, a) = θ_s: every action taken in a candidate costs its number, at weight γ^t
at step t (paper: ``app:cmdp``). A move that ends an episode in a state is followed by no action
there, so it costs nothing.

**Entering.** cost(s, a) = Σ_s' E(s' | s, a)·θ_s': every move costs the number of what it enters,
where E (``arrivals``) counts moves that end the episode too. The move from step t to t + 1 has
weight γ^t, as the reward on arrival has. The start is not entered. A move that stays where it is
enters its state again.

**Acting.** cost(s, a) = θ_sa, or θ_a in every state: one action costs, at weight γ^t at step t, and
the others do not.

A certificate must not cover less than its reader thinks, so a candidate that the chosen charge can
never meet, or meets only in part, is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from dp_cmdp._src.base import exact
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.model import MDP

if TYPE_CHECKING:
    from dp_cmdp._src.cmdp.costs import Candidates

OCCUPYING, ENTERING, ACTING = CHARGED = "occupying", "entering", "acting"
#: Relative excess of an entry's expected count where a move is uncertain: more than the rounding
#: of a row of T, whose probabilities are meant to be divided by their sum.
EXCESS = 2.0**-45
#: Far above the numbers that floats hold to fewer digits.
UNDERFLOWING = 2.0**-900
#: States that a message lists: as many as fit on a line.
LISTED = 8

Mask = NDArray[np.bool_]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Charges:
    """Per term: a pair, the position of the state it is charged for, the expected number of charges
    (never rounded down), and at least what that number has too much."""

    pair: IntArray
    place: IntArray
    count: FloatArray
    excess: FloatArray


def charges_of(mdp: MDP, kind: Candidates) -> Charges:
    """The charges of a kind of cost, or a refusal that names the places not met."""
    states, actions = kind.states, kind.actions
    if kind.on == ENTERING:
        return _entering(mdp, kind)
    if kind.on == OCCUPYING:
        ends = _ending_states(mdp, acting_states(mdp))[states]
        if ends.any():
            raise InvalidArgumentError(
                f"{kind.what}s must be left by an action, or on must be {ENTERING!r}: moves end "
                f"the episode in {kind.listed(ends)}, where {OCCUPYING!r} would charge nothing "
                "for them"
            )
    _refuse_unmet(mdp, kind)
    if actions is None:
        pair = (states[:, None] * mdp.num_actions + np.arange(mdp.num_actions)).ravel()
        place = np.repeat(np.arange(states.size), mdp.num_actions)
    else:
        pair, place = states * mdp.num_actions + actions, np.arange(states.size)
    return Charges(pair, place, np.ones(pair.size), np.zeros(pair.size))


def _refuse_unmet(mdp: MDP, kind: Candidates) -> None:
    """Refuse states in which nobody acts, and those that stand for the time after the end."""
    never = ~acting_states(mdp)[kind.states]
    if never.any():
        raise InvalidArgumentError(
            f"{kind.what}s must be within reach: no policy that begins at start ever acts in "
            f"{kind.listed(never)}, so a cost there would be certified as 0; leave them out or "
            "correct start or T"
        )
    after = after_the_end(mdp)[kind.states]
    if after.any():
        raise InvalidArgumentError(
            f"{kind.what}s must be places where something can happen: {kind.listed(after)} "
            "stands for the time after an episode's end (moves go on there, but none enters); "
            "leave it out"
        )


def _entering(mdp: MDP, kind: Candidates) -> Charges:
    never = _entered(mdp, acting_states(mdp))[kind.states] == 0
    if never.any():
        raise InvalidArgumentError(
            f"{kind.what}s must be within reach: no move of a policy that begins at start enters "
            f"{kind.listed(never)} (starting there is no entry), so a cost there would be "
            f"certified as 0; leave them out, take on={OCCUPYING!r}, or say with `arrivals` which "
            "moves enter them"
        )
    columns: Any = mdp.arrivals[:, kind.states].tocoo()
    columns.eliminate_zeros()
    pair = columns.row.astype(np.int64)
    count, excess = _counts(mdp, pair, columns.data)
    return Charges(pair, columns.col.astype(np.int64), count, excess)


def met_states(mdp: MDP, *, on: str) -> Mask:
    """States that a policy can be charged for: they are entered, or acted in."""
    acting = acting_states(mdp)
    if on == ENTERING:
        return _entered(mdp, acting) > 0
    return acting & ~after_the_end(mdp)


def acting_states(mdp: MDP) -> Mask:
    """States in which some policy acts, from the start, at a time of positive weight."""
    start = mdp.start > 0.0
    last = 0 if mdp.gamma == 0.0 else mdp.num_states if mdp.horizon is None else mdp.horizon - 1
    if last == 0:
        return start
    size, T = mdp.num_states, mdp.T
    moves = _csr((T.data > 0.0, T.indices, T.indptr[:: mdp.num_actions]), (size, size))
    return reached(moves, start, last)


def reached(graph: sparse.csr_array, start: Mask, steps: float = np.inf) -> Mask:
    """The states on some path from `start` of at most so many steps, itself included."""
    size = start.size
    whole = _csr(sparse.block_array([[graph, None], [_csr(start[None]), _csr((1, 1))]]))
    whole.eliminate_zeros()
    if steps < size:
        apart = csgraph.dijkstra(whole, indices=[size], unweighted=True, limit=steps + 1)[0]
        return np.isfinite(apart[:size])
    found = np.zeros(size + 1, dtype=bool)
    found[csgraph.breadth_first_order(whole, size, return_predecessors=False)] = True
    return found[:size]


def _ending_states(mdp: MDP, acting: Mask) -> Mask:
    """States that a move within reach enters oftener than it goes on in them."""
    excess = _csr(mdp.arrivals - mdp.T).tocoo()
    within = np.repeat(acting, mdp.num_actions)[excess.row]
    ending = np.zeros(mdp.num_states, dtype=bool)
    ending[excess.col[within & (excess.data > EXCESS)]] = True
    return ending


def after_the_end(mdp: MDP) -> Mask:
    """States that no move enters and none starts in: where time goes on after an episode."""
    return (_entered(mdp, acting_states(mdp)) == 0) & (mdp.start == 0.0)


def _entered(mdp: MDP, acting: Mask) -> IntArray:
    """How many moves within reach enter each state."""
    table: Any = mdp.arrivals.tocoo()
    met = np.repeat(acting, mdp.num_actions)[table.row] & (table.data > 0.0)
    return np.bincount(table.col[met], minlength=mdp.num_states)


def _counts(mdp: MDP, pair: IntArray, entries: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Expected entries, never rounded down, and their excess: moves that are certain count exactly.

    The expected number is entry/(sum of the pair's row of T). Both are rounded sums of what a user
    wrote down, the quotient takes a few roundings more, and all of them are less than EXCESS, so
    count − number ≤ 2·EXCESS·count; of an entry so small that a product is rounded absolutely,
    all of the count may be excess.
    """
    T, entered = mdp.T, mdp.arrivals
    row = np.repeat(np.arange(T.shape[0]), np.diff(T.indptr))
    mass = exact.row_sums(row, [T.data], num_rows=T.shape[0])
    parts = np.repeat(np.arange(T.shape[0]), np.diff(entered.indptr))
    broken = np.bincount(parts, weights=entered.data % 1.0 > 0.0, minlength=T.shape[0]) > 0
    certain = ((np.diff(T.indptr) == 1) & (mass == 1.0) & ~broken)[pair]
    tiny = entries < UNDERFLOWING
    raised = entries * ((1.0 + EXCESS) / mass)[pair]
    raised = np.where(tiny, np.nextafter(raised, np.inf), raised)
    excess = np.where(tiny, raised, 2.0 * EXCESS * raised)
    return np.where(certain, entries, raised), np.where(certain, 0.0, excess)


def _csr(source: Any, shape: tuple[int, int] | None = None) -> Any:
    return sparse.csr_array(source, shape=shape, dtype=np.float64)
