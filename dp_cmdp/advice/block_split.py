"""How Algorithm 1 should split its budget over A, b and c, by what the answers achieve.

The shares α are tried on a grid of the simplex, on public databases with common random numbers; the
objective is the problem's own: the mean value of the private answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.advice.recovery import CONFIDENCE
from dp_cmdp.advice.trials import Trials, reference_databases
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.metrics import Interval
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.theory.public_interval import as_program
from dp_cmdp.theory.release_noise import release_noise

#: Finer grids of shares than this take longer than they teach.
MOST_STEPS = 50


@dataclass(frozen=True, slots=True)
class Split:
    """The best shares found.

    Attributes
    ----------
    alphas : mapping of Fraction
        Share per sensitive block.
    recovered, equal : Interval
        Share of the robust answer's loss that a block release wins back with these shares, and
        with equal ones, with confidence intervals. The best shares are chosen on the same trials,
        which flatters the first a little.
    database : Interval
        The same for one database release with the whole budget.
    """

    alphas: Mapping[str, Fraction]
    recovered: Interval
    equal: Interval
    database: Interval

    def facts(self) -> dict[str, object]:
        """Ready for JSON."""
        return {
            "alphas": {block: str(share) for block, share in self.alphas.items()},
            "recovered": asdict(self.recovered),
            "recovered_equal_shares": asdict(self.equal),
            "recovered_database_release": asdict(self.database),
        }


@door
def best_split(
    program: ParametricLP | ParametricCMDP,
    budget: PrivacyBudget,
    *,
    position: str = "average",
    draws: int = 8,
    seed: int = 0,
    steps: int = 6,
    trials: Trials | None = None,
    confidence: float = CONFIDENCE,
) -> Split:
    """The shares of ε with which Algorithm 1 does best on public databases.

    Parameters
    ----------
    program : ParametricLP or ParametricCMDP
    budget : PrivacyBudget
    position, draws, seed
        Public databases and noise, see :mod:`dp_cmdp.advice.trials`.
    steps : int
        Shares are multiples of 1/steps, and 1/50 at the edges.
    trials : Trials, optional
        Instead of `position`, `draws` and `seed`.
    confidence : float
        Of the intervals.

    Notes
    -----
    **Paper.** ``subsec:priv_budget``. **Privacy.** *Public*.

    Examples
    --------
    >>> from dp_cmdp import PrivacyBudget
    >>> from dp_cmdp.advice.block_split import best_split
    >>> from dp_cmdp.problems.ad_auction import ad_auction_program
    >>> split = best_split(ad_auction_program(2, 2), PrivacyBudget(1, "1/1000"), draws=2, steps=3)
    >>> sum(split.alphas.values())
    Fraction(1, 1)
    """
    lp = as_program(program)
    used = lp.sensitive_blocks
    if not used:
        raise InvalidArgumentError("program must read the database in A, b or c")
    count, seed = _check.size("draws", draws, low=2), _check.seed("seed", seed)
    steps = _check.integer("steps", steps, low=2, high=MOST_STEPS)
    tried = trials or Trials.of(
        lp,
        reference_databases(lp, position=position, draws=count, seed=seed),
        seed=seed,
    )
    equal = tuple(lp.equal_shares.values())
    scores = {
        shares: tried.recovery(
            release_noise(
                lp, budget, mechanism="blocks", alphas=dict(zip(used, shares, strict=True))
            ),
            confidence=confidence,
        )
        for shares in {*_simplex(len(used), steps), equal}
    }
    best = max(scores, key=lambda shares: (scores[shares].mean, shares))
    return Split(
        dict(zip(used, best, strict=True)),
        scores[best],
        scores[equal],
        tried.recovery(release_noise(lp, budget), confidence=confidence),
    )


def _simplex(count: int, steps: int) -> Iterator[tuple[Fraction, ...]]:
    """Positive shares that add up to 1: a grid, and points near the corners."""
    if count == 1:
        yield (Fraction(1),)
        return
    for parts in product(range(1, steps), repeat=count - 1):
        if sum(parts) < steps:
            yield (*(Fraction(part, steps) for part in parts), Fraction(steps - sum(parts), steps))
    edge = Fraction(1, 50)
    for corner in range(count):
        yield tuple(1 - (count - 1) * edge if i == corner else edge for i in range(count))
