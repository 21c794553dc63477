"""What is published of a database: linear facts that are certainly true of its entries.

A :class:`Release` is the only thing that crosses the privacy boundary. Everything computed from
it is post-processing (paper: ``lem:arbitrary``). It says all that its guarantee rests on, so that
its file can be judged alone (:mod:`dp_cmdp.verification.claims`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._documents import Document, unpacked
from dp_cmdp._door import door
from dp_cmdp._version import __version__
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.envelope import Envelope, Groups, describe
from dp_cmdp.data.guarantee import Debit as Debit
from dp_cmdp.data.guarantee import Guarantee as Guarantee
from dp_cmdp.data.guarantee import Noise as Noise
from dp_cmdp.data.labels import Labels
from dp_cmdp.data.packing import pack_groups, unpack_groups
from dp_cmdp.data.polytope import Polytope
from dp_cmdp.data.totals import Totals
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHODS = ("database", "blocks")
REALISED_MASK = "realised zero pattern of A and c"
_INTERVAL = ("estimate", "lower", "upper")


@door
def unprotected(block: str) -> str:
    """How `leaks` names a block that is published without noise."""
    return f"block {block} unprotected"


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Intervals that certainly contain the private entries, and an estimate of each.

    Attributes
    ----------
    estimate, lower, upper : FloatArray
        One number per released entry.
    guarantee : Guarantee
    method : str
        ``"database"``: the entries are those of the database. ``"blocks"``: they are the sensitive
        entries of A, b and c, in that order (Algorithm 1).
    groups : tuple
        Names and shapes of the released groups.
    noise : tuple of Noise
    secure : bool
        True when the noise was exact and drawn from the operating system. False: a simulation.
    leaks : tuple of str
        What the caller allowed to be published unprotected; empty for a private release.
    envelope : Envelope or None
        Of the database: bounds, radius and records, on which the guarantee rests. A release
        without one (as the systems of the comparison make) cannot be saved.
    blocks : mapping of str to Affine, or None
        For ``"blocks"``: A, b and c as functions of the database, from which sensitivities follow.
    step : FloatArray
        Lattice step of each released entry; 0 where its noise has none.
    draws : FloatArray
        The estimates before they were cut to the envelope; the estimates themselves by default.
    totals : Totals or None
        Measured sums of entries, with certain upper bounds.
    plan : mapping or None
        How looks at entries and totals were planned, in words ready for JSON.
    ledger : Debit or None
        The entry of the ledger that was debited, if there was one.
    version : str
        Of the library that made the release.

    Notes
    -----
    **Privacy.** *Public*: safe to publish, save and pickle (unless `leaks` says otherwise).

    Examples
    --------
    >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database
    >>> database = Database([0.2, 0.5], Envelope(0, 1, radius=0.01, shape=2))
    >>> release = release_database(database, PrivacyBudget(1, "1/1000"))
    >>> bool((release.lower <= [0.2, 0.5]).all() and ([0.2, 0.5] <= release.upper).all())
    True
    >>> print(release.guarantee)
    (1, 0.001)-differential privacy when one entry changes by at most its radius
    >>> release.secure  # exact noise of the operating system, no simulation
    True
    """

    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray
    guarantee: Guarantee
    method: str
    groups: Groups
    noise: tuple[Noise, ...]
    secure: bool
    leaks: tuple[str, ...] = ()
    envelope: Envelope | None = None
    blocks: Mapping[str, Affine] | None = None
    step: FloatArray = field(default_factory=lambda: np.zeros(()))
    draws: FloatArray | None = None
    totals: Totals | None = None
    plan: Mapping[str, Any] | None = None
    ledger: Debit | None = None
    version: str = __version__

    def __post_init__(self) -> None:
        for name in _INTERVAL:
            object.__setattr__(self, name, _check.vector(name, getattr(self, name)))
        if not self.estimate.size == self.lower.size == self.upper.size:
            raise InvalidArgumentError("estimate, lower and upper must have one size")
        steps = _check.vector("step", self.step, size=self.estimate.size)
        object.__setattr__(self, "step", steps)
        drawn = self.estimate if self.draws is None else self.draws
        drawn = _check.vector("draws", drawn, size=self.estimate.size)
        object.__setattr__(self, "draws", drawn)
        if self.totals is not None:
            _check.instance("totals", self.totals, Totals)
            if self.method != "database" or self.totals.grid.size != self.estimate.size:
                raise InvalidArgumentError("totals must be of the entries of a database release")
        if (self.lower > self.upper).any():
            raise InvalidArgumentError("lower must not exceed upper")
        _check.instance("guarantee", self.guarantee, Guarantee)
        _check.one_of("method", self.method, METHODS)
        _check.flag("secure", self.secure)
        object.__setattr__(self, "leaks", _check.names("leaks", self.leaks))
        object.__setattr__(self, "groups", unpack_groups(self.groups))
        object.__setattr__(self, "noise", _check.items("noise", self.noise))
        for part in self.noise:
            _check.instance("an item of noise", part, Noise)
        grouped = sum(prod(shape) for _, shape in self.groups)
        if grouped != self.estimate.size:
            raise InvalidArgumentError(
                f"groups must hold all entries, {self.estimate.size}; they hold {grouped}"
            )

    @property
    def polytope(self) -> Polytope:
        """Where the entries certainly are: intervals, and bounds on totals.

        Examples
        --------
        >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database
        >>> database = Database([0.2, 0.5], Envelope(0, 1, radius=0.01, shape=2))
        >>> release = release_database(database, PrivacyBudget(1, "1/1000"))
        >>> release.polytope.contains([0.2, 0.5])  # with certainty
        True
        """
        if self.totals is None:
            return Polytope(self.lower, self.upper)
        return Polytope(self.lower, self.upper, W=self.totals.W, q=self.totals.q)

    @property
    def _labels(self) -> tuple[Labels, ...]:
        """Labels of the released entries, if there are any."""
        if self.method != "database" or self.envelope is None or not any(self.envelope.labels):
            return ()
        return self.envelope.labels

    @door
    def check_fits(self, envelope: Envelope) -> None:
        """Raise unless the released intervals are of these entries and within these bounds."""
        if self.groups != envelope.groups:
            fault = "their groups of entries differ"
        elif any(envelope.labels) and self._labels != envelope.labels:
            fault = "the labels of their entries differ, or it has none"
        elif not envelope.encloses(self.lower, self.upper):
            fault = "its intervals leave the public bounds of the program's envelope"
        else:
            return
        raise InvalidArgumentError(
            f"release does not fit program: {fault}; release the database that belongs to it"
        )

    @door
    def group(self, name: str) -> dict[str, FloatArray]:
        """``estimate``, ``lower`` and ``upper`` of one group, in its own shape.

        Examples
        --------
        >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database
        >>> envelope = Envelope(0, 1, radius=0.01, shape=(2, 3), name="price")
        >>> database = Database([[0.2, 0.5, 0.1], [0.9, 0.3, 0.4]], envelope)
        >>> release = release_database(database, PrivacyBudget(1, "1/1000"))
        >>> release.group("price")["estimate"].shape
        (2, 3)
        """
        start = 0
        for group, shape in self.groups:
            part = slice(start, start + prod(shape))
            if group == name:
                return {key: getattr(self, key)[part].reshape(shape) for key in _INTERVAL}
            start = part.stop
        known = ", ".join(group for group, _ in self.groups)
        raise InvalidArgumentError(f"name must be one of the groups {known}; got {name!r}")

    def facts(self) -> dict[str, Any]:
        """Everything but the numbers, ready for JSON.

        Examples
        --------
        >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database
        >>> database = Database([0.2, 0.5], Envelope(0, 1, radius=0.01, shape=2))
        >>> facts = release_database(database, PrivacyBudget(1, "1/1000")).facts()
        >>> facts["method"], facts["epsilon"], facts["delta"]
        ('database', '1', '1/1000')
        """
        return {
            "method": self.method,
            "epsilon": str(self.guarantee.epsilon),
            "delta": str(self.guarantee.delta),
            "record_size": self.guarantee.record_size,
            "adjacency": self.guarantee.adjacency,
            "secure": self.secure,
            "leaks": list(self.leaks),
            "groups": pack_groups(self.groups),
            "noise": [part.facts() for part in self.noise],
            "ledger": None if self.ledger is None else self.ledger.facts(),
            "plan": None if self.plan is None else dict(self.plan),
            "version": self.version,
        }

    @door
    def to_frame(self, table: str = "entries", *, group: str | None = None) -> pd.DataFrame:
        """What was released, as a table with the labels of the envelope.

        Parameters
        ----------
        table : {"entries", "totals", "looks"}
            One row per entry: its interval, its public bounds, and whether the interval says no
            more than they do. One row per total: which entries it weighs, its bound, and the
            bounds that follow from the intervals and from the public bounds alone; its noise, look
            and share of ε. One row per look at the database.
        group : str, optional
            Entries of this group only, indexed by its own labels.

        Examples
        --------
        >>> import numpy as np
        >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database
        >>> envelope = Envelope(0, 1, radius=0.01, labels=["Bern", "Basel"])
        >>> database = Database([0.2, 0.95], envelope)
        >>> simulated = np.random.default_rng(0)  # leave it out for private noise
        >>> release = release_database(database, PrivacyBudget(1, "1/1000"), rng=simulated)
        >>> release.to_frame()[["lower", "estimate", "upper", "public_upper"]].round(3)
               lower  estimate  upper  public_upper
        Bern   0.136     0.203  0.271           1.0
        Basel  0.876     0.944  1.000           1.0
        """
        from dp_cmdp.data import to_frame

        _check.one_of("table", table, to_frame.TABLES)
        if table == to_frame.ENTRIES:
            return to_frame.entries_frame(self, group)
        if group is not None:
            raise InvalidArgumentError("group must be None unless table is 'entries'")
        return (to_frame.totals_frame if table == to_frame.TOTALS else to_frame.looks_frame)(self)

    @door
    def plot(
        self, table: str | None = None, *, group: str | None = None, ax: Axes | None = None
    ) -> Figure:
        """A picture of the intervals within the public bounds and, beside them, of the totals.

        Parameters
        ----------
        table : {"entries", "totals"}, optional
            One kind of fact; by default both, if there are totals.
        group : str, optional
            Entries of this group only.
        ax : matplotlib Axes, optional
            Where to draw one group, or the totals; a new figure otherwise.

        Examples
        --------
        >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database
        >>> envelope = Envelope(0, 1, radius=0.01, labels=["Bern", "Basel"])
        >>> release = release_database(Database([0.2, 0.95], envelope), PrivacyBudget(1, "1/1000"))
        >>> len(release.plot().axes)
        1
        """
        from dp_cmdp.figures.release import release_figure

        return release_figure(self, table=table, group=group, ax=ax)

    def document(self) -> Document:
        """The content of the release's file; its digest is the name of the release."""
        from dp_cmdp.data.release_file import packed

        return packed(self)

    @door
    def save(self, path: str | Path) -> Path:
        """Write the release to an ``.npz`` file, atomically and without pickle.

        Examples
        --------
        >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database
        >>> database = Database([0.2, 0.5], Envelope(0, 1, radius=0.01, shape=2))
        >>> release_database(database, PrivacyBudget(1, "1/1000")).save("release.npz").name
        'release.npz'
        """
        return self.document().write(path)

    @classmethod
    @door
    def load(cls, path: str | Path) -> Release:
        """Read a release written by :meth:`save`; whatever it claims is verified again.

        Raises
        ------
        InvalidArgumentError
            If the file is damaged, or was edited so that a claim no longer follows from the rest
            (:func:`dp_cmdp.verification.claims.check_claims`).

        Examples
        --------
        >>> from dp_cmdp import Database, Envelope, PrivacyBudget, Release, release_database
        >>> database = Database([0.2, 0.5], Envelope(0, 1, radius=0.01, shape=2))
        >>> release = release_database(database, PrivacyBudget(1, "1/1000"))
        >>> print(Release.load(release.save("release.npz")).guarantee)
        (1, 0.001)-differential privacy when one entry changes by at most its radius
        """
        from dp_cmdp.data.release_file import read

        return unpacked(path, read(path), _verified)

    def __repr__(self) -> str:
        leak = f", LEAKS {', '.join(self.leaks)}" if self.leaks else ""
        sums = f" and {len(self.totals)} totals" if self.totals is not None else ""
        return (
            f"Release({self.method}: {describe(self.groups)}{sums}; {self.guarantee}; "
            f"secure={self.secure}{leak})"
        )

    def _repr_html_(self) -> str:
        from dp_cmdp.data.html import release_html

        return release_html(self)


def _verified(source: Document) -> Release:
    """The release of a document, once its claims are found to be true."""
    from dp_cmdp.data.release_file import arguments
    from dp_cmdp.verification.claims import check_claims

    release = Release(**arguments(source))
    check_claims(release)
    return release
