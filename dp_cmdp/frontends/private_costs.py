"""The model of an imported environment with private costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.labels import is_default, positions
from dp_cmdp.data.names import check_normal
from dp_cmdp.data.release import Release
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.frontends.candidates import Candidates
from dp_cmdp.frontends.hazard_table import filled_severities, is_series, read_severities
from dp_cmdp.frontends.kinds import (
    PrivateCost,
    cost_rows,
    group_of,
    joined_envelope,
    refuse_credits,
    tolerance_rows,
)
from dp_cmdp.frontends.step_costs import StepCosts
from dp_cmdp.frontends.tabular import TabularModel


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class TabularCMDP(ParametricCMDP):
    """A ``ParametricCMDP`` that knows the environment it came from.

    Parameters
    ----------
    source : TabularModel
    kinds : mapping of str to PrivateCost
    records : mapping of str to array_like, optional
        As in :meth:`TabularModel.with_private_costs`.

    Notes
    -----
    ``save`` writes the ``ParametricCMDP`` alone: ``ParametricCMDP.load`` gives one that certifies
    the same, with the candidates as labels, but has neither ``database`` nor ``cost_at``. Import
    the environment again for these.
    **Privacy.** *Public*: it holds no value of any database.

    Examples
    --------
    >>> from dp_cmdp import Envelope, import_gymnasium
    >>> lake = import_gymnasium("FrozenLake-v1", gamma=0.9)
    >>> model = lake.with_private_costs(
    ...     states=[5, 7], on="entering", severity=Envelope(0, 1, shape=2), tolerance=0.3
    ... )
    >>> type(model).__name__, model.envelope
    ('TabularCMDP', Envelope(severity[2], record_size=1))
    """

    source: TabularModel
    kinds: Mapping[str, PrivateCost]
    candidates: tuple[Candidates, ...]

    @door
    def __init__(
        self,
        source: TabularModel,
        kinds: Mapping[str, PrivateCost],
        *,
        records: Mapping[str, Any] | None = None,
    ) -> None:
        for name, cost in kinds.items():
            check_normal("a name of kinds", name)
            _check.instance(f"kinds[{name!r}]", cost, PrivateCost)
        if not kinds:
            raise InvalidArgumentError("kinds must name at least one kind of cost")
        candidates = tuple(Candidates.of(source, cost) for cost in kinds.values())
        refuse_credits(source, kinds)
        envelope = joined_envelope(kinds, candidates, records)
        public = source.public
        ParametricCMDP.__init__(
            self,
            envelope,
            T=public.T,
            r=public.r,
            mu=public.mu,
            gamma=public.gamma,
            arrivals=public.arrivals,
            cost=cost_rows(source, kinds, candidates, envelope),
            tolerance=tolerance_rows(kinds, envelope),
            names=list(kinds),
        )
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "kinds", dict(kinds))
        object.__setattr__(self, "candidates", candidates)

    @door
    def cost_at(self, release: Release | None = None) -> StepCosts:
        """What a step costs at most, as a function of (state, action, next_state).

        Parameters
        ----------
        release : Release, optional
            Of this model's database; each severity is taken at the upper end of its interval. By
            default the public upper bounds, which need no data.

        Notes
        -----
        For :func:`dp_cmdp.rollout`. The mean of its discounted sum is at least the true one, and
        what a certificate for the intervals of the release bounds. A certificate that also rests
        on totals can be lower: totals bound sums, not what one step costs. True severities do not
        go in here: see ``model.at(values)`` for their curator.
        **Privacy.** *Post-processing* of a release.

        Examples
        --------
        >>> from dp_cmdp import Envelope, import_gymnasium
        >>> lake = import_gymnasium("FrozenLake-v1", gamma=0.9)
        >>> model = lake.with_private_costs(
        ...     states=[5, 7], on="entering", severity=Envelope(0, 1, shape=2), tolerance=0.3
        ... )
        >>> cost = model.cost_at()  # at the public upper bounds; at a release's with one
        >>> cost(4, 2, 5), cost(4, 1, 8)
        (1.0, 0.0)
        """
        if release is None:
            upper = self.envelope.upper
        elif release.method != "database":
            raise InvalidArgumentError(
                "release must be one of the database, made by release_database or "
                "release_and_synthesize: those of blocks do not say what one severity is"
            )
        else:
            release.check_fits(self.envelope)
            upper = release.upper
        severities = [
            upper[self.envelope.index(group)].ravel()
            if (group := group_of(self.kinds, name, "severity")) in dict(self.envelope.groups)
            else cost.fixed
            for name, cost in self.kinds.items()
        ]
        return StepCosts.of(self.source, self.candidates, severities)

    @door
    def occupancy(self, policy: Policy) -> FloatArray:
        """Expected discounted visits of every pair, (num_states + 1, num_actions)."""
        return self.source.occupancy(policy)

    @door
    def database(
        self,
        hazards: Any,
        *,
        tolerance: ArrayLike | None = None,
        identity: str | None = None,
    ) -> Database:
        """The private database, from a table of hazards.

        Parameters
        ----------
        hazards : DataFrame, path of a CSV file, Series, array_like, or mapping
            A table with the columns ``state`` (or ``row`` and ``col``; ``action``, for costs on
            acting) and ``severity``, and ``kind`` where there are several. Candidates that it does
            not name have the lowest severity that is possible. Or one severity per candidate; or a
            mapping from place (a state, or a row and a column) to severity, or a Series with the
            places as its index. Of several kinds, a mapping from kind to any of these.
        tolerance : array_like
            The private tolerances, in the order of the kinds that have one; of a Series, by the
            names of kinds in its index.
        identity : str, optional
            As in :class:`~dp_cmdp.data.database.Database`.

        Notes
        -----
        Errors show the public bounds and no row, place or number of the table.
        **Privacy.** *Curator only*.

        Examples
        --------
        >>> from dp_cmdp import Envelope, import_gymnasium
        >>> lake = import_gymnasium("FrozenLake-v1", gamma=0.9)
        >>> model = lake.with_private_costs(
        ...     states=[5, 7], on="entering", severity=Envelope(0, 1, shape=2), tolerance=0.3
        ... )
        >>> model.database({5: 0.8})  # hole 7 has the lowest severity
        Database(<private>, severity[2])
        """
        places = dict(zip(self.kinds, self.candidates, strict=True))
        private = {n: c.severity for n, c in self.kinds.items() if isinstance(c.severity, Envelope)}
        found = read_severities(hazards, {name: places[name].columns for name in private})
        values: dict[str, Any] = {}
        for name, bounds in private.items():
            filled = filled_severities(name, found[name], bounds)
            values[group_of(self.kinds, name, "severity")] = filled
        values |= self._given_tolerances(tolerance)
        return Database(values, self.envelope, identity=identity)

    def _given_tolerances(self, tolerance: ArrayLike | None) -> dict[str, Any]:
        private = {
            n: c.tolerance for n, c in self.kinds.items() if isinstance(c.tolerance, Envelope)
        }
        if tolerance is None:
            if private:
                raise InvalidArgumentError(
                    f"tolerance must be given: it is private for {', '.join(private)}"
                )
            return {}
        given = np.atleast_1d(_check.private_array("tolerance", _in_order(tolerance, private)))
        if given.shape != (len(private),):
            raise InvalidArgumentError(
                f"tolerance must hold {len(private)} numbers, one per kind with a private "
                f"tolerance ({', '.join(private) or 'there is none'})"
            )
        values = {}
        for (name, bounds), value in zip(private.items(), given, strict=True):
            if not bounds.contains([value]):
                raise InvalidArgumentError(
                    f"tolerance of {name!r} must lie in its public bounds "
                    f"[{bounds.lower[0]:g}, {bounds.upper[0]:g}]; it does not (it is not shown)"
                )
            values[group_of(self.kinds, name, "tolerance")] = value.reshape(bounds.groups[0][1])
        return values

    def __repr__(self) -> str:
        return f"TabularCMDP({self.source!r}, {self.envelope!r})"


def _in_order(tolerance: Any, kinds: Mapping[str, Any]) -> Any:
    """The numbers of a Series in the order of kinds, if it has an index that names them."""
    if not is_series(tolerance) or is_default(tolerance.index):
        return tolerance
    import pandas as pd

    place = positions(pd.Index(list(kinds)), tolerance.index)
    if place is None:
        raise InvalidArgumentError(
            f"tolerance must have the kinds with a private one as its index "
            f"({', '.join(kinds) or 'there is none'}), each once; or be a list in their order"
        )
    return tolerance.to_numpy()[place]
