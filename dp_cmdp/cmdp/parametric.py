"""Constrained MDPs whose costs and tolerances come from a private database.

    maximise  E[Σ γ^t r]   subject to   E[Σ γ^t f_i(θ; s, a)] ≤ f0_i(θ),   i = 1 … K

Dynamics, reward, start and discount are public; f and f0 are affine in the database θ. Because an
occupancy measure is non-negative, the constraints hold for every θ in a box when they hold with
each f at its largest and each f0 at its smallest value there: the *tightened* CMDP, a public
object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.affine import Affine
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.parametric import ParametricLP
from dp_cmdp.release import Release


@dataclass(frozen=True, slots=True, eq=False)
class ParametricCMDP:
    """A CMDP with private costs, as public structure.

    Parameters
    ----------
    envelope : Envelope
        Public bounds, radius and records of the database.
    T, r, mu, gamma
        Public dynamics, as in :class:`~dp_cmdp.cmdp.model.CMDP`.
    cost : Affine, (K, num_states·num_actions)
        f(θ), one row per constraint.
    tolerance : Affine, (K,)
        f0(θ).
    names : sequence of str, optional
        Names of the constraints, for messages.

    Notes
    -----
    **Paper.** ``def:cmdp``, ``app:cmdp``. **Privacy.** Public: it holds no value of any database.
    """

    envelope: Envelope
    public: CMDP
    cost: Affine
    tolerance: Affine
    names: tuple[str, ...]

    @door
    def __init__(
        self,
        envelope: Envelope,
        *,
        T: Any,
        r: ArrayLike,
        mu: ArrayLike,
        gamma: float,
        cost: Affine,
        tolerance: Affine,
        names: Sequence[str] | None = None,
    ) -> None:
        shape = _check.array("r", r).shape
        if len(shape) != 2 or cost.shape[1:] != (shape[0] * shape[1],):
            raise InvalidArgumentError(
                "cost must have one column per (state, action) pair of r, in the order "
                f"state·num_actions + action; got shapes {cost.shape} and {shape}"
            )
        K = cost.shape[0]
        if tolerance.shape != (K,):
            raise InvalidArgumentError(f"tolerance must have {K} entries, one per row of cost")
        given = () if names is None else _check.names("names", names)
        labels = given or tuple(f"constraint {i}" for i in range(K))
        if len(labels) != K:
            raise InvalidArgumentError(f"names must hold {K} names")
        f = cost.constant.toarray().reshape(K, *shape)
        public = CMDP(T, r, f=f, f0=tolerance.constant, mu=mu, gamma=gamma)
        for name, value in (
            ("envelope", envelope),
            ("public", public),
            ("cost", cost),
            ("tolerance", tolerance),
            ("names", labels),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    @door
    def for_states(
        cls,
        public: CMDP,
        states: ArrayLike,
        *,
        severity: Envelope,
        tolerance: Envelope,
        name: str = "hazard",
    ) -> ParametricCMDP:
        """One private cost per candidate state, whatever the action, and a private tolerance.

        Parameters
        ----------
        public : CMDP
            Dynamics, reward, start and discount; its costs and tolerances are not used.
        states : array_like of int
            The public candidates: where a cost may be. It is known to be 0 elsewhere.
        severity : Envelope
            One entry per candidate.
        tolerance : Envelope
            One entry.

        Notes
        -----
        The database has the groups ``severity`` and ``tolerance``. **Paper.** ``app:cmdp``.
        **Privacy.** Public.
        """
        candidates = _check.integers("states", states, high=public.num_states)
        if candidates.ndim != 1 or np.unique(candidates).size != severity.num_entries:
            raise InvalidArgumentError(
                f"states must hold {severity.num_entries} distinct state numbers, one per entry of "
                "severity"
            )
        if tolerance.num_entries != 1:
            raise InvalidArgumentError("tolerance must have one entry")
        envelope = Envelope.join({"severity": severity, "tolerance": tolerance})
        actions = np.arange(public.num_actions)
        pairs = (candidates[:, None] * public.num_actions + actions).ravel()
        entries = np.repeat(envelope.index("severity").ravel(), public.num_actions)
        return cls(
            envelope,
            T=public.T,
            r=public.r,
            mu=public.mu,
            gamma=public.gamma,
            cost=Affine((1, public.r.size), at=(0, pairs), entry=entries),
            tolerance=Affine(1, at=[0], entry=envelope.index("tolerance").ravel()),
            names=[name],
        )

    @door
    def at(self, values: ArrayLike) -> CMDP:
        """The CMDP at given database values: *curator only* when they are the true ones."""
        size = self.envelope.num_entries
        theta = _check.vector("values", values, size=size, private=True)
        f = self.cost.at(theta).toarray()
        return self.public.with_constraints(self._table(f), self.tolerance.at(theta))

    @door
    def worst(self, lower: ArrayLike, upper: ArrayLike) -> CMDP:
        """The CMDP that is safe for every database in a box: f largest, f0 smallest.

        Notes
        -----
        Entry by entry; exact unless one database entry meets a constraint with both signs, or is
        in its cost and in its tolerance. There it is safe but cautious: it takes the entry at its
        highest in the cost and at its lowest in the tolerance, and may be infeasible although some
        policy is safe for every database of the box (:meth:`program` is exact there too; see
        :func:`~dp_cmdp.cmdp.synthesis.check_robust_policy`). **Privacy.** Post-processing.
        """
        size = self.envelope.num_entries
        low = _check.vector("lower", lower, size=size, private=True)
        high = _check.vector("upper", upper, size=size, private=True)
        return self._tightened(self.cost.bounds(low, high)[1], self.tolerance.bounds(low, high)[0])

    def robust(self) -> CMDP:
        """The CMDP that is safe for every database of the envelope: it costs no privacy (ε = 0)."""
        return self.worst(self.envelope.lower, self.envelope.upper)

    @door
    def tightened(self, release: Release) -> CMDP:
        """The CMDP that is safe for everything a release allows.

        Parameters
        ----------
        release : Release
            Of the database, or of the blocks A and b (Algorithm 1) of :meth:`program`.

        Notes
        -----
        **Privacy.** Post-processing: a public object.
        """
        if release.method == "database":
            if release.groups != self.envelope.groups:
                raise InvalidArgumentError("release does not fit: its groups of entries differ")
            if not self.envelope.encloses(release.lower, release.upper):
                raise InvalidArgumentError(
                    "release does not fit: its intervals leave the public bounds of this model; "
                    "release the database that belongs to it"
                )
            return self.worst(release.lower, release.upper)
        expected = {"A": self.cost.sensitive()[0].size, "b": self.tolerance.sensitive()[0].size}
        found = {name: shape[0] for name, shape in release.groups}
        if found != {name: size for name, size in expected.items() if size}:
            raise InvalidArgumentError("release does not fit: its blocks have other sizes")
        f = release.group("A")["upper"] if expected["A"] else np.empty(0)
        f0 = release.group("b")["lower"] if expected["b"] else np.empty(0)
        return self._tightened(f, f0)

    def _tightened(self, sensitive_f: FloatArray, sensitive_f0: FloatArray) -> CMDP:
        f = self.cost.constant.toarray()
        row, col, _ = self.cost.sensitive()
        f[row, col] = sensitive_f
        f0 = np.array(self.tolerance.constant)
        f0[self.tolerance.sensitive()[0]] = sensitive_f0
        return self.public.with_constraints(self._table(f), f0)

    def _table(self, f: FloatArray) -> FloatArray:
        return f.reshape(-1, self.public.num_states, self.public.num_actions)

    def program(self) -> ParametricLP:
        """The occupancy-measure linear program; its flow rows are public equalities.

        Notes
        -----
        **Paper.** ``opt:MDP-D``, with the cost row corrected (no extra γ). **Privacy.** Public.
        """
        from dp_cmdp.cmdp.occupancy import flow_matrix

        return ParametricLP(
            self.envelope,
            c=self.public.r.ravel(),
            A=self.cost,
            b=self.tolerance,
            A_eq=flow_matrix(self.public),
            b_eq=self.public.mu,
            row_names=self.names,
        )

    def __repr__(self) -> str:
        return f"ParametricCMDP({self.public!r}, {self.envelope!r})"
