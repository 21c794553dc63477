"""The audit of one subject: a measurement, or any callable that claims (ε, δ)-privacy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp._src.accounting.budget import Number, PrivacyBudget
from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import validated
from dp_cmdp._src.checking.audit.black_box import FloatArray, black_box
from dp_cmdp._src.checking.audit.measured import FALSE_ALARM, Measured
from dp_cmdp._src.checking.report import Report

#: Training runs, and held-out runs, on each database; of measurements the other layers see more.
RUNS, MEASURED_RUNS = 10_000, 2_000
HEADING = f"a private mechanism is accused with probability at most {FALSE_ALARM:g}"


@validated
def audit(mechanism: Any, pair: Any, *, epsilon: Number, delta: Number, seed: int = 0) -> Report:
    """Audit a mechanism that claims (ε, δ)-differential privacy.

    Parameters
    ----------
    mechanism : callable or Measurement
        ``mechanism(values, rng)`` returns a vector. What it raises is an output, too. A measurement
        is audited in all layers: its certificate, worst records, the exact divergence where its
        support is tiny, coupling, and the law of its noise.
    pair : (array_like, array_like)
        A database and a neighbour of it. Choose the pair that you fear most: values at the ends of
        their range, zeros, ties.
    epsilon, delta : number
        The claim.
    seed : int
        Of the generator handed to the mechanism, and of everything else that is random.

    Returns
    -------
    Report
        It fails for a private mechanism with probability at most 1e-6. An objection is evidence; a
        pass proves nothing beyond the certificate.

    Raises
    ------
    InvalidArgumentError
        If `pair` is not two vectors of one size, or the mechanism raises in every run.

    Notes
    -----
    **Paper.** ``def:dp``. **Privacy.** *Curator only* when `pair` is real data; use invented data.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> def too_little_noise(values, rng):
    ...     return values + rng.laplace(scale=0.2, size=values.shape)  # 1 would be right
    >>> bool(dp.audit.audit(too_little_noise, ([0.0], [1.0]), epsilon=1, delta="1/1000"))
    False
    """
    sides, claim = _pair(pair), PrivacyBudget(epsilon, delta)
    rng = np.random.default_rng(check.seed("seed", seed))
    if hasattr(mechanism, "draw") and hasattr(mechanism, "query"):
        stated = mechanism.budget
        if stated.epsilon > claim.epsilon or stated.delta > claim.delta:
            raise InvalidArgumentError(
                "epsilon and delta must be at least what the measurement spends: "
                f"({stated.epsilon}, {stated.delta})"
            )
        subject = Measured(mechanism.name or "measurement", mechanism)
        return Report(tuple(subject.judge(sides, runs=MEASURED_RUNS, rng=rng)), HEADING)
    if not callable(mechanism):
        raise InvalidArgumentError("mechanism must be a function of (values, rng) or a Measurement")
    function: Any = mechanism
    found = black_box("mechanism", function, sides, claim, runs=RUNS, rng=rng, alpha=FALSE_ALARM)
    return Report((found,), HEADING)


def _pair(pair: Any) -> tuple[FloatArray, FloatArray]:
    """A database and its neighbour, as flat vectors of one size."""
    sides: tuple[ArrayLike, ...] = check.items("pair", pair, most=2)
    if len(sides) != 2:
        raise InvalidArgumentError("pair must hold two vectors: a database, its neighbour")
    first, second = (
        check.vector("a vector of pair", side, size=np.size(side), private=True) for side in sides
    )
    if first.size != second.size or not first.size:
        raise InvalidArgumentError("pair must hold two vectors of one size, at least 1")
    return first, second
