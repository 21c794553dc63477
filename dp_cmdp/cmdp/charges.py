"""What a private cost is charged on: acting in a state, entering it, or one action in it.

**Occupying.** f(s, a) = θ_s: every action taken in a candidate costs its severity, at weight γ^t at
step t (paper: ``app:cmdp``). A move that ends an episode in a state is followed by no action there,
so it costs nothing.

**Entering.** f(s, a) = Σ_s' E(s' | s, a)·θ_s': every move costs the severity of what it enters,
where E (:attr:`CMDP.arrivals <dp_cmdp.cmdp.model.CMDP.arrivals>`) counts moves that end the episode
too. The move from step t to t + 1 has weight γ^t, as the reward on arrival has. The start is not
entered. A move that stays where it is enters its state again.

**Acting.** f(s, a) = θ_sa, or θ_a in every state: one action costs, at weight γ^t at step t, and
the others do not.

A certificate must not cover less than its reader thinks, so a candidate that the chosen charge can
never meet, or meets only in part, is refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from dp_cmdp import _check
from dp_cmdp import _exact as exact
from dp_cmdp._check import FloatArray
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.errors import InvalidArgumentError

OCCUPYING, ENTERING, ACTING = CHARGED = "occupying", "entering", "acting"
#: Relative excess of an entry's expected count where a move is uncertain: more than the rounding
#: of a row of T, whose probabilities are meant to be divided by their sum.
EXCESS = 2.0**-45
#: Far above the numbers that floats hold to fewer digits.
UNDERFLOWING = 2.0**-900

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Places:
    """What a caller calls candidates: states, or cells with several states each."""

    what: str
    names: Sequence[Any]

    def shown(self, chosen: Mask) -> str:
        """Those of the chosen states, each once."""
        found = list(dict.fromkeys(self.names[k] for k in np.flatnonzero(chosen).tolist()))
        text = ", ".join(map(str, found[: _check.SHOWN]))
        more = f" and {len(found) - _check.SHOWN} more" if len(found) > _check.SHOWN else ""
        return f"{self.what}{'s' if len(found) > 1 else ''} {text}{more}"


@dataclass(frozen=True, slots=True, eq=False)
class Charges:
    """One term per candidate and pair that is charged for it.

    Attributes
    ----------
    pair : (terms,) int
        state·num_actions + action.
    candidate : (terms,) int
        Position of the candidate among the given states.
    count : (terms,)
        Expected number of charges per time the pair is played; not rounded down.
    excess : (terms,)
        At least what `count` has more than the expected number; 0 where it is exact.

    Notes
    -----
    **Privacy.** *Public*.
    """

    pair: NDArray[np.int64]
    candidate: NDArray[np.int64]
    count: FloatArray
    excess: FloatArray

    @classmethod
    def of(
        cls, public: CMDP, states: NDArray[np.int64], *, on: str, places: Places | None = None
    ) -> Charges:
        """The charges of distinct candidates, or a refusal that names those not met.

        Messages call the candidates as `places` does, by default by the numbers of their states.
        """
        _check.one_of("on", on, (OCCUPYING, ENTERING))
        named = Places("state", states.tolist()) if places is None else places
        if on == ENTERING:
            return _entering(public, states, named)
        return _occupying(public, states, named)

    @classmethod
    def of_actions(
        cls, public: CMDP, states: NDArray[np.int64], actions: NDArray[np.int64]
    ) -> Charges:
        """One term per pair of a state and an action, or a refusal that names those not met."""
        _refuse_unmet(public, states, Places("state", states.tolist()))
        one = np.ones(states.size)
        return cls(
            pair=states * public.num_actions + actions,
            candidate=np.arange(states.size),
            count=one,
            excess=0.0 * one,
        )

    def allowance(self, lower: FloatArray, num_pairs: int) -> FloatArray:
        """What has to be added per pair so that severities from `lower` on are charged in full.

        Counts that are too high charge negative severities too little: with θ ≥ `lower` and
        0 ≤ count − n ≤ excess, count·θ + excess·max(0, −lower) ≥ n·θ.
        """
        below = np.maximum(-lower, 0.0)[self.candidate]
        return exact.row_sums_up(self.pair, [self.excess, below], num_rows=num_pairs)


def _occupying(public: CMDP, states: NDArray[np.int64], places: Places) -> Charges:
    acting = acting_states(public)
    ends = _ending_states(public, acting)[states]
    if ends.any():
        raise InvalidArgumentError(
            f"{places.what}s must be left by an action, or on must be {ENTERING!r}: moves end the "
            f"episode in {places.shown(ends)}, where {OCCUPYING!r} would charge nothing for them"
        )
    _refuse_unmet(public, states, places)
    actions = np.arange(public.num_actions)
    pair = (states[:, None] * public.num_actions + actions).ravel()
    candidate = np.repeat(np.arange(states.size), public.num_actions)
    one = np.ones(pair.size)
    return Charges(pair=pair, candidate=candidate, count=one, excess=0.0 * one)


def _refuse_unmet(public: CMDP, states: NDArray[np.int64], places: Places) -> None:
    """Refuse states in which nobody acts, and those that stand for the time after the end."""
    never = ~acting_states(public)[states]
    if never.any():
        raise InvalidArgumentError(
            f"{places.what}s must be within reach: no policy that starts from mu ever acts in "
            f"{places.shown(never)}, so a cost there would be certified as 0; leave them out or "
            "correct mu or T"
        )
    after = _after_the_end(public)[states]
    if after.any():
        raise InvalidArgumentError(
            f"{places.what}s must be places where something can happen: {places.shown(after)} "
            "stands for the time after an episode's end (moves go on there, but none enters); "
            "leave it out"
        )


def _entering(public: CMDP, states: NDArray[np.int64], places: Places) -> Charges:
    acting = acting_states(public)
    never = _entered(public, acting)[states] == 0
    if never.any():
        raise InvalidArgumentError(
            f"{places.what}s must be within reach: no move of a policy that starts from mu enters "
            f"{places.shown(never)} (starting there is no entry), so a cost there would be "
            f"certified as 0; leave them out, take on={OCCUPYING!r}, or say with `arrivals` "
            "(`through`, when importing from Gymnasium) which moves enter them"
        )
    columns: Any = public.arrivals[:, states].tocoo()
    columns.eliminate_zeros()
    pair = columns.row.astype(np.int64)
    count, excess = _counts(public, pair, columns.data)
    return Charges(pair=pair, candidate=columns.col.astype(np.int64), count=count, excess=excess)


def met_states(public: CMDP, *, on: str) -> Mask:
    """States that a policy can be charged for: they are entered, or acted in."""
    acting = acting_states(public)
    if on == ENTERING:
        return _entered(public, acting) > 0
    return acting & ~_after_the_end(public)


def acting_states(public: CMDP) -> Mask:
    """States in which some policy acts, from μ, at a time of positive weight."""
    start = public.mu > 0.0
    if public.gamma == 0.0:
        return start
    size, T = public.num_states, public.T
    moves = _csr((T.data > 0.0, T.indices, T.indptr[:: public.num_actions]), (size, size))
    graph = _csr(sparse.block_array([[moves, None], [_csr(start[None]), _csr((1, 1))]]))
    graph.eliminate_zeros()
    reached = np.zeros(size + 1, dtype=bool)
    reached[csgraph.breadth_first_order(graph, size, return_predecessors=False)] = True
    return reached[:size]


def _ending_states(public: CMDP, acting: Mask) -> Mask:
    """States that a move within reach enters oftener than it goes on in them."""
    excess = _csr(public.arrivals - public.T).tocoo()
    within = np.repeat(acting, public.num_actions)[excess.row]
    ending = np.zeros(public.num_states, dtype=bool)
    ending[excess.col[within & (excess.data > EXCESS)]] = True
    return ending


def _after_the_end(public: CMDP) -> Mask:
    """States that no move enters and none starts in: where time goes on after an episode."""
    return (_entered(public, acting_states(public)) == 0) & (public.mu == 0.0)


def _entered(public: CMDP, acting: Mask) -> NDArray[np.int64]:
    """How many moves within reach enter each state."""
    table: Any = public.arrivals.tocoo()
    met = np.repeat(acting, public.num_actions)[table.row] & (table.data > 0.0)
    return np.bincount(table.col[met], minlength=public.num_states)


def _counts(
    public: CMDP, pair: NDArray[np.int64], entries: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Expected entries, never rounded down, and their excess: moves that are certain count exactly.

    The expected number is entry/(sum of the pair's row of T). Both are rounded sums of what a user
    wrote down, the quotient takes a few roundings more, and all of them are less than EXCESS, so
    count − number ≤ 2·EXCESS·count; of an entry so small that a product is rounded absolutely,
    all of the count may be excess.
    """
    T, entered = public.T, public.arrivals
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


def _csr(source: Any, shape: tuple[int, int] | None = None, *, copy: bool = False) -> Any:
    return sparse.csr_array(source, shape=shape, dtype=np.float64, copy=copy)
