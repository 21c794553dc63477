"""The certificate of a noise law: the privacy proof as comparisons of fractions.

Three laws of integer noise are certified. Adjacent data move the integer vector by at most `steps`
in every entry and by at most ``entries · steps`` in total (ℓ1).

``truncated-laplace``
    Z on {−S, …, S}, |Z| by its binary digits. If every unit step away from 0 divides the law by a
    factor in [1, ρ] with ρ ≤ e^(ε/(entries·steps)), and G(n) is the mass of the n outermost points
    on one side, then ``entries · G(steps) ≤ δ`` proves (ε, δ)-privacy.
    *Proof.* Let d_i be the shift of entry i. Where both laws are positive their ratio is at most
    ρ^Σ|d_i| ≤ e^ε. The mass outside the other support is at most Σ G(|d_i|). The law falls away
    from 0 and ``steps ≤ S``, so G is convex on {0, …, steps} with G(0) = 0; thus
    G(d) ≤ (d/steps)·G(steps) and Σ G(|d_i|) ≤ entries·G(steps) ≤ δ. ∎
    It is the ℓ∞-refined form of the ``tight`` support: `entries` = 1 covers a change of total size
    `steps` split over any number of entries.
``laplace``
    The same on all integers: ρ alone proves (ε, 0)-privacy, `steps` being the ℓ1 bound.
``table``
    One entry moves (``entries = 1``): the hockey-stick divergence of every shift is computed.

Every bound of e^x used is a rational lower bound, so the conclusions hold for the true e^x.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any

from dp_cmdp import _check
from dp_cmdp._storage import parse_json
from dp_cmdp.accounting.budget import HALF, exact, short
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.digits import (
    LARGEST,
    ONE,
    PRECISION,
    continuation_holds,
    exp_lower,
    steps_hold,
    weight_below,
)
from dp_cmdp.noise.weight_table import worst_hockey_stick

#: Limits of a budget and of a lattice that certificates are made for; no release comes near.
MAX_EPSILON = 100
MIN_DELTA = Fraction(1, 1 << 63)
MAX_STEPS = 1 << 40
#: Cells of a table, and products of cells and shifts, beyond what any law that is built needs:
#: a file that claims more is not worth hours of checking.
MAX_CELLS = 1 << 17
MAX_TABLE_WORK = 1 << 19

_FRACTIONS = ("epsilon", "delta", "entries", "ratio", "outer_mass")


def checked_budget(epsilon: Any, delta: Any) -> tuple[Fraction, Fraction]:
    """(ε, δ) as fractions inside the range in which exact noise is built."""
    eps, dlt = exact("epsilon", epsilon), exact("delta", delta)
    if not 0 < eps <= MAX_EPSILON:
        raise InvalidArgumentError(f"epsilon must lie in (0, {MAX_EPSILON}], got {short(eps)}")
    if not MIN_DELTA <= dlt <= HALF:
        raise InvalidArgumentError(f"delta must lie in [2^-63, 1/2], got {short(dlt)}")
    return eps, dlt


@dataclass(frozen=True, slots=True)
class NoiseCertificate:
    """Exact facts that prove the privacy of one noise law.

    Attributes
    ----------
    law : str
        ``truncated-laplace``, ``laplace`` or ``table``.
    epsilon, delta : Fraction
        The guarantee.
    steps : int
        How far one entry can move between adjacent data, in lattice steps.
    entries : Fraction
        Total movement (ℓ1) divided by `steps`: how many entries can move together.
    support : int or None
        The noise lies in [−support, support] (``truncated-laplace``) or [0, support] (``table``).
    cell : int
        Lattice points per cell of a ``table``; 1 otherwise.
    ratio : Fraction
        Bound on the factor by which a unit step changes the law; for ``table`` the lower bound
        of e^ε that entered the divergences.
    outer_mass : Fraction
        Upper bound of the δ spent: outermost points times `entries`, or the greatest divergence.
    thresholds : tuple of int
        The law itself, over 2^256: digit thresholds (and, last, the continuation of ``laplace``)
        or cell weights.

    Notes
    -----
    **Privacy.** *Public*: it knows the law of the noise, never a draw nor the data.

    Examples
    --------
    >>> from dp_cmdp import Database, Envelope, PrivacyBudget, release_database
    >>> from dp_cmdp.noise.certificate import NoiseCertificate
    >>> database = Database([0.2, 0.5], Envelope(0, 1, radius=0.01, shape=2))
    >>> release = release_database(database, PrivacyBudget(1, "1/1000"))
    >>> proof = NoiseCertificate.from_facts(release.noise[0].certificate)
    >>> str(proof.epsilon), str(proof.delta), proof.verified
    ('1', '1/1000', True)
    """

    law: str
    epsilon: Fraction
    delta: Fraction
    steps: int
    entries: Fraction
    support: int | None
    cell: int
    ratio: Fraction
    outer_mass: Fraction
    thresholds: tuple[int, ...]

    @property
    def verified(self) -> bool:
        """Whether every fact holds; recomputed from the thresholds at each call."""
        return self.check()

    def check(self) -> bool:
        """Recompute everything from the thresholds, in integers."""
        if not 0 < self.epsilon <= MAX_EPSILON or self.delta < 0 or self.entries < 1:
            return False
        if not 1 <= self.steps <= MAX_STEPS or self.cell < 1 or not self.thresholds:
            return False
        checks = {
            "truncated-laplace": self._check_truncated,
            "laplace": self._check_laplace,
            "table": self._check_table,
        }
        return self.law in checks and checks[self.law]()

    def _check_truncated(self) -> bool:
        support, digits = self.support, len(self.thresholds)
        if support is None or not self.steps <= support <= LARGEST or support >> digits:
            return False
        if digits > LARGEST.bit_length() or self.cell != 1:
            return False
        mass = outer_mass(self.thresholds, support=support, steps=self.steps, entries=self.entries)
        return (
            self.ratio <= exp_lower(self.epsilon / (self.entries * self.steps))
            and steps_hold(self.thresholds, self.ratio)
            and mass <= self.outer_mass <= self.delta
        )

    def _check_laplace(self) -> bool:
        *digits, onward = self.thresholds
        if len(digits) > LARGEST.bit_length() or self.cell != 1 or self.support is not None:
            return False
        return (
            self.ratio <= exp_lower(self.epsilon / (self.entries * self.steps))
            and steps_hold(digits, self.ratio)
            and continuation_holds(digits, self.ratio, onward)
            and self.outer_mass == 0
        )

    def _check_table(self) -> bool:
        shifts = -(-self.steps // self.cell)
        if shifts * len(self.thresholds) > MAX_TABLE_WORK:
            return False
        return (
            self.entries == 1
            and self.support == self.cell * len(self.thresholds) - 1
            and min(self.thresholds) >= 0
            and sum(self.thresholds) == ONE
            and self.ratio <= exp_lower(self.epsilon)
            and worst_hockey_stick(self.thresholds, shifts, self.ratio) <= self.outer_mass
            and self.outer_mass <= self.delta
        )

    def to_json(self) -> str:
        """JSON text; fractions and thresholds are strings, so nothing is rounded."""
        record = asdict(self)
        record.update({name: str(record[name]) for name in _FRACTIONS})
        record["thresholds"] = [f"{value:x}" for value in self.thresholds]
        return json.dumps(record)

    @classmethod
    def from_json(cls, text: str) -> NoiseCertificate:
        """The certificate written by :meth:`to_json`; call :meth:`check` before trusting it."""
        return cls.from_facts(parse_json(text))

    @classmethod
    def from_facts(cls, record: Any) -> NoiseCertificate:
        """The certificate whose JSON says `record`; call :meth:`check` before trusting it.

        A number written in another way than :meth:`to_json` does (``2/2`` for 1) is refused.
        """
        try:
            if set(record) != {field.name for field in fields(cls)}:
                raise InvalidArgumentError("it must name the facts of a certificate")
            said = dict(record)
            said.update({name: _fraction(name, said[name]) for name in _FRACTIONS})
            said["thresholds"] = _thresholds(said["thresholds"])
            for name in ("steps", "cell"):
                said[name] = _check.integer(name, said[name])
            if said["support"] is not None:
                said["support"] = _check.integer("support", said["support"])
            if not isinstance(said["law"], str):
                raise InvalidArgumentError("law must be a text")
            made = cls(**said)
            if json.loads(made.to_json()) != {**record, "thresholds": [*record["thresholds"]]}:
                raise InvalidArgumentError("its numbers must be written as to_json does")
            return made
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InvalidArgumentError("text must be JSON written by to_json") from None


def _fraction(name: str, text: Any) -> Fraction:
    if not isinstance(text, str):
        raise InvalidArgumentError(f"{name} must be a fraction, as text")
    return exact(name, text)


def _thresholds(texts: Any) -> tuple[int, ...]:
    """Integers from hexadecimal text, none of more digits than 2^256 has."""
    if len(texts) > MAX_CELLS or max(map(len, texts), default=0) > PRECISION // 4 + 1:
        raise InvalidArgumentError("thresholds must be at most 2^256 each, and not so many")
    return tuple(int(text, 16) for text in texts)


def outer_mass(
    thresholds: tuple[int, ...], *, support: int, steps: int, entries: Fraction
) -> Fraction:
    """entries · (mass of the `steps` outermost points of one side), rounded up to 2^−256."""
    inside = weight_below(thresholds, support + 1)
    outer = inside - weight_below(thresholds, support + 1 - steps)
    whole = 2 * inside - weight_below(thresholds, 1)
    top, bottom = outer * entries.numerator, whole * entries.denominator
    return Fraction(-(-(top << PRECISION) // bottom), ONE)
