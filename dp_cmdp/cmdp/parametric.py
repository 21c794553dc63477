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
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._documents import Document, read_document, unpacked
from dp_cmdp._door import door
from dp_cmdp.cmdp.charges import OCCUPYING, Charges
from dp_cmdp.cmdp.model import ARRIVALS, CMDP
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.data.packing import (
    ENVELOPE_ARRAYS,
    affine_names,
    pack_affine,
    pack_envelope,
    sparse_names,
    unpack_affine,
    unpack_envelope,
    unpack_sparse,
)
from dp_cmdp.data.release import Release
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.parametric import ParametricLP

FORMAT = "dp_cmdp.ParametricCMDP/1"
#: Of models whose envelope has labels; others are written as before.
LABELLED = "dp_cmdp.ParametricCMDP/2"
#: Arrays of a :class:`CMDP` that its private costs and tolerances have no part in.
_DYNAMICS = (*sparse_names("T"), "r", "mu")
_ARRAYS = (
    *_DYNAMICS,
    *ENVELOPE_ARRAYS,
    *affine_names("cost", matrix=True),
    *affine_names("tolerance", matrix=False),
)


@dataclass(frozen=True, slots=True, eq=False)
class ParametricCMDP:
    """A CMDP with private costs, as public structure.

    Parameters
    ----------
    envelope : Envelope
        Public bounds, radius and records of the database.
    T, r, mu, gamma, arrivals
        Public dynamics, as in :class:`~dp_cmdp.cmdp.model.CMDP`.
    cost : Affine, (K, num_states·num_actions)
        f(θ), one row per constraint.
    tolerance : Affine, (K,)
        f0(θ).
    names : sequence of str, optional
        Names of the constraints, for messages.

    Notes
    -----
    **Paper.** ``def:cmdp``, ``app:cmdp``. **Privacy.** *Public*: it holds no value of any database.

    Examples
    --------
    One state in which acting costs θ₀ per step, and at most θ₁ may be spent:

    >>> from dp_cmdp import Affine, Envelope, ParametricCMDP
    >>> model = ParametricCMDP(
    ...     Envelope([0, 2], [1, 3], radius=0.1),
    ...     T=[[[1.0], [1.0]]],  # two actions
    ...     r=[[1.0, 0.0]],
    ...     mu=[1.0],
    ...     gamma=0.5,
    ...     cost=Affine((1, 2), at=([0], [0]), entry=[0]),  # of the first action
    ...     tolerance=Affine(1, at=[0], entry=[1]),
    ... )
    >>> model.at([0.5, 2.0]).f
    array([[[0.5, 0. ]]])
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
        arrivals: Any = None,
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
        public = CMDP(T, r, f=f, f0=tolerance.constant, mu=mu, gamma=gamma, arrivals=arrivals)
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
        on: str = OCCUPYING,
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
        on : {"occupying", "entering"}
            What is charged: every action taken in a candidate (at weight γ^t in step t), or every
            move that enters one (at weight γ^t for the move of step t), moves that end the episode
            included. Starting in a candidate is not entering it; staying in one enters it again.

        Raises
        ------
        InvalidArgumentError
            A candidate can never be charged, or is charged for some of the visits only, because
            episodes end in it; the text names it and says what to do.

        Notes
        -----
        The database has the groups ``severity`` and ``tolerance``. **Paper.** ``app:cmdp``
        (occupying). **Privacy.** *Public*.

        Examples
        --------
        Falling into a hole ends the episode, so nobody ever acts in one:

        >>> from dp_cmdp import Envelope, ParametricCMDP, cmdp_from_gymnasium, robust_policy
        >>> lake = cmdp_from_gymnasium("FrozenLake-v1", cost=lambda s, a: 0, f0=0, gamma=0.9)
        >>> model = ParametricCMDP.for_states(
        ...     lake,
        ...     [5, 7, 11, 12],
        ...     severity=Envelope(0, 1, shape=4),
        ...     tolerance=Envelope([0.1], [0.3]),
        ...     on="entering",
        ... )
        >>> bool(robust_policy(model).certificate.worst_case_cost[0] <= 0.1)
        True
        """
        candidates = _check.integers("states", states, high=public.num_states)
        count = severity.num_entries
        if candidates.ndim != 1 or not np.unique(candidates).size == candidates.size == count:
            raise InvalidArgumentError(
                f"states must hold {count} distinct state numbers, one per entry of severity"
            )
        if tolerance.num_entries != 1:
            raise InvalidArgumentError("tolerance must have one entry")
        charges = Charges.of(public, candidates, on=on)
        envelope = Envelope.join({"severity": severity, "tolerance": tolerance})
        allowance = charges.allowance(severity.lower, public.r.size)
        return cls(
            envelope,
            T=public.T,
            r=public.r,
            mu=public.mu,
            gamma=public.gamma,
            arrivals=public.arrivals,
            cost=Affine(
                (1, public.r.size),
                constant=allowance[None] if allowance.any() else None,
                at=(0, charges.pair),
                entry=envelope.index("severity").ravel()[charges.candidate],
                coefficient=charges.count,
            ),
            tolerance=Affine(1, at=[0], entry=envelope.index("tolerance").ravel()),
            names=[name],
        )

    @door
    def at(self, values: ArrayLike) -> CMDP:
        """The CMDP at given database values: *curator only* when they are the true ones.

        Examples
        --------
        >>> from dp_cmdp.envs import HazardGridEnv
        >>> model = HazardGridEnv("corridor").model()
        >>> harmless = model.at(model.envelope.lower)  # public values: nobody's hazards
        >>> float(harmless.f.max())
        0.0
        """
        size = self.envelope.num_entries
        theta = _check.vector("values", values, size=size, private=True)
        f = self.cost.at(theta).toarray()
        return self.public.with_constraints(self._table(f), self.tolerance.at(theta))

    @door
    def robust(self, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> CMDP:
        """The CMDP that is safe for every database in a box: f largest, f0 smallest.

        Parameters
        ----------
        lower, upper : array_like, optional
            The box; by default the envelope, which costs no privacy (ε = 0).

        Notes
        -----
        Entry by entry; exact unless one database entry meets a constraint with both signs, or is
        in its cost and in its tolerance. There it is safe but cautious: it takes the entry at its
        highest in the cost and at its lowest in the tolerance, and may be infeasible although some
        policy is safe for every database of the box (:meth:`program` is exact there too; see
        :func:`~dp_cmdp.cmdp.synthesis.check_robust_policy`). **Privacy.** *Post-processing*.

        Examples
        --------
        >>> from dp_cmdp.envs import HazardGridEnv
        >>> model = HazardGridEnv("corridor").model()
        >>> float(model.robust().f.max())  # every candidate as hazardous as it can be
        1.0
        """
        size = self.envelope.num_entries
        low = self.envelope.lower if lower is None else lower
        high = self.envelope.upper if upper is None else upper
        low = _check.vector("lower", low, size=size, private=True)
        high = _check.vector("upper", high, size=size, private=True)
        f, f0 = self.cost.bounds(low, high)[1], self.tolerance.bounds(low, high)[0]
        return self._tightened(f, f0)

    @door
    def check_owns(self, database: Database) -> None:
        """Raise unless `database` is one of this model: of the same public facts."""
        database.check_envelope(self.envelope)

    @door
    def tightened(self, release: Release) -> CMDP:
        """The CMDP that is safe for everything a release allows, entry by entry.

        Parameters
        ----------
        release : Release
            Of the database, or of the blocks A and b (Algorithm 1) of :meth:`program`.

        Notes
        -----
        Totals are not used: they bound sums, not entries (see
        :func:`dp_cmdp.cmdp.facts_synthesis.policy_over`).

        **Privacy.** *Post-processing*: a public object.

        Examples
        --------
        >>> from dp_cmdp import PrivacyBudget, release_database
        >>> from dp_cmdp.envs import HazardGridEnv
        >>> curator = HazardGridEnv("corridor", access="curator")
        >>> release = release_database(curator.database(), PrivacyBudget(1, "1/1000"))
        >>> tightened = curator.model().tightened(release)
        >>> bool((tightened.f >= curator.cmdp().f).all())  # no true cost is larger
        True
        """
        if release.method == "database":
            release.check_fits(self.envelope)
            return self.robust(release.lower, release.upper)
        expected = {"A": self.cost.sensitive()[0].size, "b": self.tolerance.sensitive()[0].size}
        found = {name: shape[0] for name, shape in release.groups}
        if found != {name: size for name, size in expected.items() if size}:
            raise InvalidArgumentError("release does not fit: its blocks have other sizes")
        f = release.group("A")["upper"] if expected["A"] else np.empty(0)
        f0 = release.group("b")["lower"] if expected["b"] else np.empty(0)
        return self._tightened(f, f0)

    def _tightened(self, sensitive_f: FloatArray, sensitive_f0: FloatArray) -> CMDP:
        f = self._table(self.cost.dense(sensitive_f))
        return self.public.with_constraints(f, self.tolerance.dense(sensitive_f0))

    def _table(self, f: FloatArray) -> FloatArray:
        return f.reshape(-1, self.public.num_states, self.public.num_actions)

    def program(self) -> ParametricLP:
        """The occupancy-measure linear program; its flow rows are public equalities.

        Notes
        -----
        **Paper.** ``opt:MDP-D``, with the cost row corrected (no extra γ). **Privacy.** *Public*.

        Examples
        --------
        >>> from dp_cmdp.envs import HazardGridEnv
        >>> program = HazardGridEnv("corridor").model().program()
        >>> program.sensitive_blocks, program.num_variables
        (('A', 'b'), 180)
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

    def document(self) -> Document:
        """The content of the model's file; its digest names the model."""
        public = self.public.document()
        arrays = {
            name: public.arrays[name] for name in (*_DYNAMICS, *ARRIVALS) if name in public.arrays
        }
        facts = {
            **public.facts,
            "envelope": pack_envelope(self.envelope, arrays),
            "cost": pack_affine("cost", self.cost, arrays),
            "tolerance": pack_affine("tolerance", self.tolerance, arrays),
            "names": list(self.names),
        }
        return Document(LABELLED if any(self.envelope.labels) else FORMAT, facts, arrays)

    @door
    def save(self, path: str | Path) -> Path:
        """Write the model to an ``.npz`` file, atomically and without pickle.

        Examples
        --------
        >>> from dp_cmdp.envs import HazardGridEnv
        >>> HazardGridEnv("corridor").model().save("model.npz").name
        'model.npz'
        """
        return self.document().write(path)

    @classmethod
    @door
    def load(cls, path: str | Path) -> ParametricCMDP:
        """Read a model written by :meth:`save`; everything in it is checked again.

        Examples
        --------
        >>> from dp_cmdp import ParametricCMDP
        >>> from dp_cmdp.envs import HazardGridEnv
        >>> model = HazardGridEnv("corridor").model()
        >>> ParametricCMDP.load(model.save("model.npz")).envelope == model.envelope
        True
        """
        source = read_document(path, FORMAT, arrays=_ARRAYS, optional=ARRIVALS, labelled=LABELLED)
        return unpacked(path, source, _build)

    def __repr__(self) -> str:
        return f"ParametricCMDP({self.public!r}, {self.envelope!r})"


def _build(source: Document) -> ParametricCMDP:
    facts, arrays, entered = source.facts, source.arrays, source.facts["arrivals"]
    return ParametricCMDP(
        unpack_envelope(facts["envelope"], arrays),
        T=unpack_sparse("T", facts["T"], arrays),
        r=arrays["r"],
        mu=arrays["mu"],
        gamma=facts["gamma"],
        cost=unpack_affine("cost", facts["cost"], arrays),
        tolerance=unpack_affine("tolerance", facts["tolerance"], arrays),
        names=facts["names"],
        arrivals=entered and unpack_sparse("arrivals", entered, arrays),
    )
