"""What a private release would be worth, before any data is read.

From the envelope, the radius and the structure alone, for a range of budgets:

* **support against range**: s_k/(hi_k − lo_k); above ½ an interval can cover its whole envelope;
* **expected saturation**: the mean share of harmful interval ends (those that tighten a row) that
  reach the envelope, for entries at the harmless end, in the middle, and uniform on average;
* **public interval** of the optimum, and the **robust value**: what costs no privacy at all;
* **recovered**: on public reference databases, the share of the robust answer's loss that a release
  wins back (common random numbers, so curves are smooth), with a confidence interval over the
  trials. A verdict is given where the whole interval is on one side of the share asked for; the
  others are *undecided*, and more trials may decide them;
* **smallest ε** at which it wins back at least a given share, for every δ and radius, with the ε at
  which the ends of that interval do; None when no ε up to :data:`LARGEST_TRIED` does: privacy
  with certainty is then not worth its budget;
* **forced changes**: any (ε, δ)-private mechanism whose answers are feasible with certainty must
  also be safe, with positive probability, for ⌊ln(1 + (e^ε − 1)/δ)/ε⌋ simultaneous changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp._progress import with_bar
from dp_cmdp.accounting.budget import Number, PrivacyBudget, exact, weak_budgets
from dp_cmdp.advice.block_split import best_split
from dp_cmdp.advice.recovery import CONFIDENCE, verdict
from dp_cmdp.advice.remedies import remedies
from dp_cmdp.advice.report import Advice, AdviceRow, Threshold
from dp_cmdp.advice.trials import Trials, crossing, reference_databases
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.metrics import Interval
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.theory.public_interval import as_program, harmful_ends, public_interval
from dp_cmdp.theory.release_noise import ReleaseNoise, release_noise

#: Range of ε that is searched: beyond what anybody promises on either side.
LARGEST_TRIED = 100.0
SMALLEST_TRIED = 0.01


@door
@weak_budgets()
def advise(
    program: ParametricLP | ParametricCMDP,
    *,
    epsilons: Iterable[Number] = ("1/4", "1/2", 1, 2, 4, 8),
    deltas: Iterable[Number] = ("1/1000", "1/10"),
    radii: Sequence[float] | None = None,
    position: str = "average",
    worth: float = 0.1,
    draws: int = 16,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    progress: bool = False,
) -> Advice:
    """What releases would be worth, from public data only.

    Parameters
    ----------
    program : ParametricLP or ParametricCMDP
    epsilons, deltas : iterable of numbers
    radii : sequence of float, optional
        Multiples of the envelope's radius (cut at each entry's range); only 1 by default.
    position : {"average", "middle", "harmless"}
        Where the entries of the public reference databases are; see
        :func:`dp_cmdp.advice.trials.reference_databases`.
    worth : float
        A release is *useful* when it wins back this share of what the robust answer loses.
    draws, seed : int
        Trials per setting, in antithetic pairs, with common random numbers.
    confidence : float
        Of every interval, hence of every verdict by itself.
    progress : bool
        On a terminal, show a bar when it takes longer than two seconds.

    Returns
    -------
    Advice
        With ``summary()``, ``to_frame()``, ``facts()`` and ``to_json()``.

    Notes
    -----
    **Paper.** Ours; it answers the use of ``prob:accurate``. **Privacy.** *Public*: no database is
    needed, so advice can be published, and asked for as often as one likes.

    Examples
    --------
    >>> from dp_cmdp import Affine, Envelope, ParametricLP, advise
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> advice = advise(program, epsilons=[1, 4], deltas=["1/1000"], draws=8)
    >>> advice.worthwhile
    True
    >>> advice.to_frame()[["epsilon", "recovered"]].round(2)
       epsilon  recovered
    0      1.0       0.68
    1      4.0       0.87
    """
    lp = as_program(program)
    eps, dlt = _numbers("epsilons", epsilons), _numbers("deltas", deltas)
    factors = (
        [1.0]
        if radii is None
        else [_check.real("radii", r, low=1e-9, high=1e9) for r in _check.items("radii", radii)]
    )
    share = _check.real("worth", worth, low=0.0, high=1.0)
    count, seed = _check.size("draws", draws, low=2), _check.seed("seed", seed)
    level = _check.real("confidence", confidence, low=0.5, high=0.999999)
    lp.check_robust_feasibility()
    interval = public_interval(lp)
    trials = Trials.of(
        lp, reference_databases(lp, position=position, draws=count, seed=seed), seed=seed
    )
    middle = PrivacyBudget(sorted(eps)[len(eps) // 2], max(dlt))
    settings = [(d, factor) for factor in factors for d in dlt]
    steps: list[Callable[[], Any]] = [
        *(
            partial(_row, trials, PrivacyBudget(e, d), f, share, level)
            for d, f in settings
            for e in eps
        ),
        *(partial(_threshold, trials, d, factor, share, level) for d, factor in settings),
        partial(best_split, lp, middle, trials=trials, confidence=level),
        partial(remedies, trials, middle, confidence=level),
    ]
    *parts, split, advised = [
        step() for step in with_bar(steps, progress, total=len(steps), name="advice")
    ]
    tried = len(settings) * len(eps)
    return Advice(
        rows=tuple(parts[:tried]),
        thresholds=tuple(parts[tried:]),
        robust_value=interval.robust,
        optimistic_value=interval.optimistic,
        reference_optimum=float(trials.optimum.mean()),
        reference_robust=float(trials.robust.mean()),
        position=position,
        draws=count,
        worth=share,
        record_size=lp.envelope.record_size,
        split=split,
        split_budget=(float(middle.epsilon), float(middle.delta)),
        remedies=advised,
        confidence=level,
    )


def expected_saturation(noise: ReleaseNoise, position: str) -> float:
    """Mean share of harmful interval ends that reach the envelope.

    Parameters
    ----------
    noise : ReleaseNoise
    position : {"harmless", "middle", "average"}
        Where the entries lie: at the far end, in the middle, or uniformly.

    Notes
    -----
    At the harmless end it is 1 − δ exactly when the radius is the whole range and records have
    one entry. **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp import Affine, Envelope, ParametricLP, PrivacyBudget
    >>> from dp_cmdp.advice.adviser import expected_saturation
    >>> from dp_cmdp.theory.release_noise import release_noise
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, shape=2), c=[3, 2], A=price, b=[8])
    >>> noise = release_noise(program, PrivacyBudget(1, "1/1000"))
    >>> round(expected_saturation(noise, "harmless"), 6)  # radius = range: 1 − δ
    0.999
    """
    envelope = noise.envelope
    width = envelope.upper - envelope.lower
    low, high = harmful_ends(noise.target)
    ends = np.concatenate([low, high])
    if not ends.any():
        return 0.0
    shares = {"harmless": (1.0,), "middle": (0.5,), "average": (np.arange(64) + 0.5) / 64}[position]
    found = [np.concatenate(noise.saturation(share * width)) for share in shares]
    return float(np.mean([part[ends].mean() for part in found]))


def forced_changes(budget: PrivacyBudget) -> int:
    """Changes for which certain feasibility and (ε, δ)-privacy together force safety.

    An answer that is infeasible k changes away has probability at most δ(e^{kε} − 1)/(e^ε − 1); as
    long as that is below 1, some answers must be safe for the k changed entries too.

    Examples
    --------
    >>> from dp_cmdp import PrivacyBudget
    >>> from dp_cmdp.advice.adviser import forced_changes
    >>> forced_changes(PrivacyBudget(1, "1/1000"))
    7
    """
    eps, delta = float(budget.epsilon), float(budget.delta)
    inner = eps + math.log1p(-math.exp(-eps)) - math.log(delta)  # ln((e^ε − 1)/δ)
    most = (
        inner + math.log1p(math.exp(-inner)) if inner > 0 else math.log1p(math.exp(inner))
    ) / eps
    return max(math.ceil(most) - 1, 0)


def _row(
    trials: Trials, budget: PrivacyBudget, factor: float, worth: float, confidence: float
) -> AdviceRow:
    noise = release_noise(trials.program, budget, radius=_radius(trials.program, factor))
    width = noise.envelope.upper - noise.envelope.lower
    share = trials.recovery(noise, confidence=confidence)
    return AdviceRow(
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
        radius=factor,
        support_over_range=float(np.median(noise.support / width)),
        saturation_harmless=expected_saturation(noise, "harmless"),
        saturation_middle=expected_saturation(noise, "middle"),
        saturation_average=expected_saturation(noise, "average"),
        recovered=share.mean,
        recovered_low=share.low,
        recovered_high=share.high,
        useful=verdict(share, worth),
        forced_changes=forced_changes(budget),
    )


def _threshold(
    trials: Trials, delta: Number, factor: float, worth: float, confidence: float
) -> Threshold:
    """Where the estimate, and the ends of its interval, reach the share asked for."""
    radius = _radius(trials.program, factor)

    @cache
    def recovery(epsilon: float) -> Interval:
        noise = release_noise(trials.program, PrivacyBudget(epsilon, delta), radius=radius)
        return trials.recovery(noise, confidence=confidence)

    def reached(part: str) -> float | None:
        found = crossing(
            lambda epsilon: getattr(recovery(epsilon), part) >= worth,
            (SMALLEST_TRIED, LARGEST_TRIED),
            step=0.05,
        )
        return None if math.isinf(found) else max(found, SMALLEST_TRIED)

    return Threshold(
        delta=float(delta),
        radius=factor,
        epsilon=reached("mean"),
        low=reached("high"),
        high=reached("low"),
        limit=recovery(LARGEST_TRIED),
    )


def _radius(program: ParametricLP, factor: float) -> FloatArray:
    envelope = program.envelope
    return np.minimum(factor * envelope.radius, envelope.upper - envelope.lower)


def _numbers(name: str, values: Iterable[Number]) -> list[Number]:
    found: list[Number] = [exact(name, value) for value in _check.items(name, values)]
    if not found:
        raise InvalidArgumentError(f"{name} must hold at least one number")
    return found
