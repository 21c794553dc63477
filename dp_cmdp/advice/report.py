"""The adviser's answer: records, a table, JSON, and a text for people."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dp_cmdp.advice.block_split import Split
from dp_cmdp.advice.remedies import Remedy
from dp_cmdp.metrics import Interval

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class AdviceRow:
    """One budget and radius.

    Attributes
    ----------
    epsilon, delta : float
    radius : float
        Multiple of the envelope's radius, cut at the range of each entry.
    support_over_range : float
        Median over the entries of s_k/(hi_k − lo_k).
    saturation_harmless, saturation_middle, saturation_average : float
        Expected share of harmful interval ends at the envelope, by position of the entries.
    recovered : float
        Share of the robust answer's loss that a release wins back on the reference databases.
    recovered_low, recovered_high : float
        Its confidence interval over the trials.
    useful : bool or None
        Whether that is at least the share asked for; None, *undecided*, while the interval allows
        both.
    forced_changes : int
        Changes for which any such mechanism must be safe, with positive probability.

    Examples
    --------
    >>> from dp_cmdp import advise
    >>> from dp_cmdp.problems.ad_auction import ad_auction_program
    >>> advice = advise(ad_auction_program(2, 2), epsilons=[1, 4], deltas=[0.1], draws=4)
    >>> [(row.epsilon, row.delta, row.radius) for row in advice.rows]
    [(1.0, 0.1, 1.0), (4.0, 0.1, 1.0)]
    >>> all(row.recovered_low <= row.recovered <= row.recovered_high for row in advice.rows)
    True
    """

    epsilon: float
    delta: float
    radius: float
    support_over_range: float
    saturation_harmless: float
    saturation_middle: float
    saturation_average: float
    recovered: float
    recovered_low: float
    recovered_high: float
    useful: bool | None
    forced_changes: int


@dataclass(frozen=True, slots=True)
class Threshold:
    """The smallest ε at which releasing is worth it.

    Attributes
    ----------
    delta, radius : float
    epsilon : float or None
        Where the estimate reaches the share asked for; None when no ε up to the largest does.
    low, high : float or None
        Where the upper and the lower end of the confidence interval do: below `low` a release is
        not worth it, from `high` on it is, and in between the trials do not tell.
    limit : Interval
        What a release recovers at the largest ε tried.

    Examples
    --------
    >>> from dp_cmdp import advise
    >>> from dp_cmdp.problems.ad_auction import ad_auction_program
    >>> advice = advise(ad_auction_program(2, 2), epsilons=[1, 4], deltas=[0.1], draws=4)
    >>> (threshold,) = advice.thresholds
    >>> threshold.delta, threshold.worthwhile
    (0.1, None)
    """

    delta: float
    radius: float
    epsilon: float | None
    low: float | None
    high: float | None
    limit: Interval

    @property
    def worthwhile(self) -> bool | None:
        """Whether some ε makes a release useful; None while the trials do not tell."""
        return True if self.high is not None else (False if self.low is None else None)


@dataclass(frozen=True, slots=True)
class Advice:
    """Everything the adviser found: public.

    Attributes
    ----------
    rows : tuple of AdviceRow
    thresholds : tuple of Threshold
    robust_value, optimistic_value : float
        The public interval of the optimum.
    reference_optimum, reference_robust : float
        Mean value of the best and of the robust answer on the reference databases.
    position : str
        Where the entries of the reference databases are.
    draws : int
    worth : float
        Share of the robust answer's loss that a release must win back.
    record_size : int
    split : Split or None
        Best shares for a block release, at `split_budget` (ε, δ).
    split_budget : tuple of float
    remedies : tuple of Remedy
    confidence : float
        Of each interval, over trials in antithetic pairs (Student's law).

    Examples
    --------
    >>> from dp_cmdp import Affine, Envelope, ParametricLP, advise
    >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
    >>> advice = advise(program, epsilons=[1, 4], deltas=["1/1000"], draws=8)
    >>> print(advice.summary().splitlines()[1])
    The true optimum lies in [12, 24].
    """

    rows: tuple[AdviceRow, ...]
    thresholds: tuple[Threshold, ...]
    robust_value: float
    optimistic_value: float
    reference_optimum: float
    reference_robust: float
    position: str
    draws: int
    worth: float
    record_size: int
    split: Split | None
    split_budget: tuple[float, float]
    remedies: tuple[Remedy, ...]
    confidence: float

    @property
    def worthwhile(self) -> bool | None:
        """Whether some budget makes a release useful at the declared radius; None: undecided."""
        found = [part.worthwhile for part in self.thresholds if part.radius == 1.0]
        if self.nothing_to_win or all(answer is False for answer in found):
            return False
        return True if True in found else None

    @property
    def nothing_to_win(self) -> bool:
        """Whether the robust answer is already the best one on the reference databases."""
        gain = self.reference_optimum - self.reference_robust
        return gain <= 1e-6 * (1.0 + abs(self.reference_optimum))

    def to_frame(self) -> pd.DataFrame:
        """One row per (ε, δ, radius).

        Examples
        --------
        >>> from dp_cmdp import Affine, Envelope, ParametricLP, advise
        >>> price = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
        >>> program = ParametricLP(Envelope(1, 2, radius=0.02, shape=2), c=[3, 2], A=price, b=[8])
        >>> advice = advise(program, epsilons=[1, 4], deltas=["1/1000"], draws=2)
        >>> advice.to_frame()[["epsilon", "delta"]]
           epsilon  delta
        0      1.0  0.001
        1      4.0  0.001
        """
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])

    def facts(self) -> dict[str, Any]:
        """Everything, ready for JSON; infinite numbers become None."""
        return _plain(
            {
                "public_interval": [self.robust_value, self.optimistic_value],
                "reference": {
                    "position": self.position,
                    "draws": self.draws,
                    "optimum": self.reference_optimum,
                    "robust": self.reference_robust,
                },
                "worth": self.worth,
                "confidence": self.confidence,
                "worthwhile": self.worthwhile,
                "nothing_to_win": self.nothing_to_win,
                "record_size": self.record_size,
                "rows": [asdict(row) for row in self.rows],
                "thresholds": [asdict(part) for part in self.thresholds],
                "split": None if self.split is None else self.split.facts(),
                "split_budget": list(self.split_budget),
                "remedies": [asdict(part) for part in self.remedies],
            }
        )

    def to_json(self) -> str:
        return json.dumps(self.facts(), indent=2, ensure_ascii=False)

    def summary(self) -> str:
        """The advice in words."""
        return "\n".join(
            [*self._values(), "", *self._verdicts(), "", *self._table(), *self._more()]
        )

    def _values(self) -> list[str]:
        where = {
            "average": "uniform over their intervals",
            "middle": "in the middle of their intervals",
            "harmless": "at their harmless ends",
        }[self.position]
        who = (
            "one entry changes by at most its radius"
            if self.record_size == 1
            else f"one record (up to {self.record_size} entries) changes"
        )
        weak = max(row.delta for row in self.rows)
        note = (
            [f"Delta {weak:g} is a weak promise for real people; 1/1000 or less is usual."]
            if weak > 1e-3
            else []
        )
        return [
            *note,
            f"Adjacency: {who}. No data was read.",
            f"The true optimum lies in [{self.robust_value:.6g}, {self.optimistic_value:.6g}].",
            f"For entries {where}: best answer {self.reference_optimum:.6g}, robust answer "
            f"{self.reference_robust:.6g} (it costs no privacy at all).",
        ]

    def _verdicts(self) -> list[str]:
        if self.nothing_to_win:
            return ["The robust answer is as good as the best one: release nothing."]
        asked = f"{self.worth:.0%} of what the robust answer loses"
        return [
            f"Intervals hold with {self.confidence:.6g} confidence each, over {self.draws} trials.",
            *(
                f"delta {part.delta:g}, radius ×{part.radius:g}: {_verdict(part, asked)}"
                for part in self.thresholds
            ),
        ]

    def _table(self) -> list[str]:
        head = " epsilon    delta  radius  support/range  saturated: harmless  mid  recovered"
        words = {True: "useful", False: "", None: "undecided"}
        return [
            head,
            *(
                f"{row.epsilon:8.3g}{row.delta:9.2g}{row.radius:8.3g}{row.support_over_range:15.2f}"
                f"{row.saturation_harmless:21.0%}{row.saturation_middle:5.0%}{row.recovered:11.0%}"
                f" {_ends(row.recovered_low, row.recovered_high):12} {words[row.useful]}".rstrip()
                for row in self.rows
            ),
        ]

    def _more(self) -> list[str]:
        lines = []
        if self.split is not None and len(self.split.alphas) > 1:
            eps, delta = self.split_budget
            shares = ", ".join(f"{b} {float(a):.3g}" for b, a in self.split.alphas.items())
            lines += [
                "",
                f"If the blocks must be released separately (epsilon {eps:g}, delta {delta:g}): "
                f"split {shares}. It recovers {_percent(self.split.recovered)}, equal shares "
                f"{_percent(self.split.equal)}, one database release "
                f"{_percent(self.split.database)}.",
            ]
        if self.remedies:
            eps, delta = self.split_budget
            lines += ["", f"What would change it (at epsilon {eps:g}, delta {delta:g}):"]
            lines += [_remedy_text(part) for part in self.remedies]
        return lines


def _verdict(part: Threshold, asked: str) -> str:
    limit = _percent(part.limit)
    if part.worthwhile is False:
        return (
            "privacy with certainty is not worth its budget. Even at a huge epsilon a release wins "
            f"back {limit}, less than {asked}."
        )
    if part.worthwhile is None:
        return (
            f"undecided. At a huge epsilon a release wins back {limit}, which may or may not reach "
            f"{asked}; ask for more draws."
        )
    at = part.high if part.epsilon is None else part.epsilon
    return (
        f"releasing wins back at least {asked} from epsilon {at:.3g} on [{part.low:.3g}, "
        f"{part.high:.3g}] ({limit} at most)."
    )


def _remedy_text(part: Remedy) -> str:
    if part.measure == "recovered":
        return f"  {part.change}: recovered {_percent(part.before)} → {_percent(part.after)}"
    return f"  {part.change}: {part.measure} {part.before.mean:.6g} → {part.after.mean:.6g}"


def _percent(share: Interval) -> str:
    return f"{share.mean:.0%} {_ends(share.low, share.high)}"


def _ends(low: float, high: float) -> str:
    return f"[{low:.0%}, {high:.0%}]" if math.isfinite(low) else f"[-∞, {high:.0%}]"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
