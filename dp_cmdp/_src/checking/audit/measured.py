"""A measurement under audit: all that can be said of one query with noise on the integers.

=================  =============================================  ===============================
layer              examines                                       detects
=================  =============================================  ===============================
certificate        the law against a count of its own             noise that is short by a hair
worst records      integers moved by databases made from the      a count that misses some record
                   structure: every record, worst signs           or rounds down
coupling           the same integers on two databases             guards, masks and noise that
                                                                  read the data
noise law          draws against the law as it is written         another law than the certified
black box          probabilities of events on two databases       anything, if it is large enough
=================  =============================================  ===============================

:func:`exact_divergence` enumerates laws for moves of a few integers, which see anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, islice, product
from math import floor
from typing import Any

import numpy as np

from dp_cmdp._src.accounting.budget import PrivacyBudget
from dp_cmdp._src.checking.audit.black_box import (
    FloatArray,
    black_box,
    lower_limit,
    upper_limit,
)
from dp_cmdp._src.checking.report import Finding
from dp_cmdp._src.checking.verify.adjacency import Adjacency, CountedSensitivity, Triple
from dp_cmdp._src.checking.verify.laws import exp_below, law_of, tail_of
from dp_cmdp._src.checking.verify.reading import Refused, triples

#: Probability that the layers which draw samples accuse a correct subject.
FALSE_ALARM = 1e-6
#: Draws for the noise law, and shells of its tail as shares of the support.
DRAWS = 20_000
SHELLS = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97)
#: Databases tried per measurement, entries per record for which every sign is tried.
MOST_TRIED = 4000
ALL_SIGNS = 5
#: Where in its range an entry is put before it moves.
PLACES = (0.0, 0.37, 0.5, 0.81)
#: Seeds of the coupling: noise that reads the data does so at every seed.
COUPLED_SEEDS = 5


class Recorded:
    """A source of seeded exact noise that remembers what was asked of it."""

    simulated = False

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.asked: list[tuple[str, int]] = []

    def draw(self, law: Any, size: int) -> list[int]:
        self.asked.append((str(law.document()), size))
        return law.sample(size, self.rng.bytes)


@dataclass
class Measured:
    """A measurement, counted again from its parts."""

    subject: str
    measurement: Any
    adjacency: Adjacency = field(init=False)
    weights: list[Triple] = field(init=False)
    centres: list[int] = field(init=False)

    def __post_init__(self) -> None:
        query = self.measurement.query
        self.adjacency = Adjacency.read(query.envelope.document())
        self.weights = triples(query.weights)
        self.centres = [int(centre) for centre in getattr(query, "centres", ())]

    @property
    def moved(self) -> CountedSensitivity:
        return self.adjacency.sensitivity(self.weights, largest=bool(self.centres))

    def integers(self, values: Sequence[float]) -> list[int]:
        """What is measured of a database, in fractions."""
        rows = [0] * self.measurement.query.weights.shape[0]
        for row, entry, weight in self.weights:
            rows[row] += weight * floor(Fraction(values[entry]) / self.adjacency.step[entry])
        if not self.centres:
            return rows
        return [max(row - centre for row, centre in zip(rows, self.centres, strict=True))]

    def judge(
        self, pair: tuple[FloatArray, FloatArray] | None, *, runs: int, rng: np.random.Generator
    ) -> list[Finding]:
        """All layers; `pair`: adjacent databases for the layers that need some."""
        sides = self.farthest_pair() if pair is None else pair
        found = [self.certificate(), self.worst_records()]
        found += [self.coupling(sides, int(rng.integers(2**31))), self.noise_law(rng)]
        return [*found, self.runs(sides, runs=runs, rng=rng)]

    def certificate(self) -> Finding:
        """The law's own document, against a count of what records move."""
        claim = "certificate: the law is private for what a record moves, in fractions"
        budget, moved = self.measurement.budget, self.moved
        try:
            law = law_of(self.measurement.law.document())
        except Refused as error:
            return Finding(self.subject, claim, False, str(error))
        if law is None:
            return Finding(self.subject, claim, None, "the law is not known here", "not proved")
        needed = law.delta(moved, Fraction(budget.epsilon))
        why = f"{moved.l1} integers, {moved.largest} in one query; δ ≤ {float(needed):.4g}"
        return Finding(self.subject, claim, needed <= budget.delta, why)

    def worst_records(self) -> Finding:
        """Adjacent databases made from the structure, through the measurement's own query."""
        claim = "worst records: no adjacent databases move more integers than are counted"
        query, counted = self.measurement.query, self.measurement.query.sensitivity()
        most, tried = CountedSensitivity(0, 0, 0, 0), 0
        for first, second in islice(self.adjacent(), MOST_TRIED):
            tried += 1
            ends = [query.true_integers(np.array(side)) for side in (first, second)]
            apart = [abs(b - a) for a, b in zip(*ends, strict=True)]
            square, count = sum(each**2 for each in apart), sum(each > 0 for each in apart)
            most = CountedSensitivity(
                *map(max, most, (sum(apart), square, max(apart, default=0), count))
            )
        certified = (counted.l1, counted.l2_squared, counted.largest, counted.count)
        holds = all(found <= given for found, given in zip(most, certified, strict=True))
        share = most.l1 / counted.l1 if counted.l1 else 0.0
        why = f"{tried} pairs, moved up to {share:.3g} of the {counted.l1} integers counted"
        return Finding(
            self.subject, claim, holds, why, "passed" if holds else None, numbers={"reached": share}
        )

    def adjacent(self) -> Iterator[tuple[list[float], list[float]]]:
        """Pairs of adjacent databases on both sides of lattice points, record by record."""
        read = {entry for _, entry, weight in self.weights if weight}
        owned: dict[int, list[tuple[int, float]]] = {}
        for (record, entry), far in self.adjacency.change.items():
            if entry in read and far > 0:
                owned.setdefault(record, []).append((entry, far))
        limit = self.adjacency.entries_per_record
        for own in owned.values():
            size = len(own) if limit is None else min(limit, len(own))
            chosen = combinations(own, size) if len(own) <= 2 * ALL_SIGNS else [own[:size]]
            for entries in chosen:
                steps = [(entry, self._farthest(entry, far)) for entry, far in entries]
                for signs in self._patterns([entry for entry, _ in entries]):
                    first = [
                        (low + high) / 2
                        for low, high in zip(
                            self.adjacency.lower, self.adjacency.upper, strict=True
                        )
                    ]
                    second = first.copy()
                    for (entry, ends), sign in zip(steps, signs, strict=True):
                        first[entry], second[entry] = ends[::sign]
                    yield first, second

    def _patterns(self, entries: list[int]) -> list[tuple[int, ...]]:
        """Signs of the moves: all of few entries, else all up and as each query asks."""
        if len(entries) <= ALL_SIGNS:
            return list(product((1, -1), repeat=len(entries)))
        wanted: dict[int, dict[int, int]] = {}
        for row, entry, weight in self.weights:
            wanted.setdefault(row, {})[entry] = -1 if weight < 0 else 1
        patterns = {tuple(signs.get(entry, 1) for entry in entries) for signs in wanted.values()}
        return sorted(patterns | {(1,) * len(entries)})

    def _farthest(self, entry: int, far: float) -> tuple[float, float]:
        """Values of an entry, adjacent, with as many cell boundaries between as can be."""
        low, high = self.adjacency.lower[entry], self.adjacency.upper[entry]
        step, reach = self.adjacency.step[entry], Fraction(far)
        best, most = (low, low), -1
        for share in PLACES:
            near = Fraction(low) + Fraction(share) * (Fraction(high) - Fraction(low))
            edge = float((floor(near / step) + 1) * step)
            for start in (edge, float(np.nextafter(edge, -np.inf)), low):
                start = min(max(start, low), high)
                end = min(float(Fraction(start) + reach), high)
                if Fraction(end) - Fraction(start) > reach:
                    end = float(np.nextafter(end, start))
                crossed = floor(Fraction(end) / step) - floor(Fraction(start) / step)
                if crossed > most:
                    best, most = (start, end), crossed
        return best

    def farthest_pair(self) -> tuple[FloatArray, FloatArray]:
        """The adjacent databases, of those tried, that move the measured integers most."""

        def apart(pair: tuple[list[float], list[float]]) -> int:
            ends = [self.integers(side) for side in pair]
            return sum(abs(b - a) for a, b in zip(*ends, strict=True))

        first, second = max(islice(self.adjacent(), MOST_TRIED // 10), key=apart)
        return np.array(first), np.array(second)

    def coupling(self, pair: tuple[FloatArray, FloatArray], seed: int) -> Finding:
        """The same noise on two databases: outputs differ exactly as the true integers do."""
        claim = "coupling: with the same noise, outputs differ by the true integers alone"
        ends = [self.integers(side.tolist()) for side in pair]
        for offset in range(COUPLED_SEEDS):
            sources = [Recorded(seed + offset) for _ in pair]
            noise: list[list[int]] = []
            raised: list[str] = []
            for side, source, true in zip(pair, sources, ends, strict=True):
                try:
                    given = self.measurement.draw(side.copy(), source).integers
                    noise.append([y - n for y, n in zip(given, true, strict=True)])
                except Exception as error:
                    raised.append(type(error).__name__)
            if raised and raised != [raised[0]] * 2:
                return Finding(self.subject, claim, False, "raises on one database alone")
            if sources[0].asked != sources[1].asked:
                return Finding(self.subject, claim, False, "asks for noise by the data")
            if not raised and noise[0] != noise[1]:
                return Finding(self.subject, claim, False, "does not move with the data")
        return Finding(self.subject, claim, True, f"{COUPLED_SEEDS} seeds", "passed")

    def noise_law(self, rng: np.random.Generator) -> Finding:
        """Draws of the law as it is sampled, against the law as it is written."""
        claim = "noise law: draws follow the law that is certified"
        law = self.measurement.law
        tail = tail_of(law.document())
        if tail is None:
            return Finding(self.subject, claim, None, "the law is not known here")
        drawn = np.array(law.sample(DRAWS, rng.bytes), dtype=np.float64)
        low, high = (-1, 1) if law.low is None else (law.low, law.high)
        if law.low is not None and not ((low <= drawn) & (drawn <= high)).all():
            return Finding(self.subject, claim, False, "a draw lies outside the support")
        width = float(high) if law.low is not None else 8 * float(law.variance) ** 0.5
        cuts = sorted({max(1, round(share * width)) for share in SHELLS})
        cuts = [-cut for cut in cuts if low < 0] + cuts
        alpha = FALSE_ALARM / 4 / len(cuts)
        for cut in cuts:
            count, expected = int((drawn >= cut).sum()), float(tail(cut))
            least, most = (each(count, DRAWS, alpha=alpha) for each in (lower_limit, upper_limit))
            if not least <= expected <= most:
                return Finding(self.subject, claim, False, f"P(Z ≥ {cut}) is not {expected:.4g}")
        return Finding(self.subject, claim, True, f"{DRAWS} draws", "passed")

    def runs(
        self, pair: tuple[FloatArray, FloatArray], *, runs: int, rng: np.random.Generator
    ) -> Finding:
        """What is published of two databases, in many runs."""
        source = Recorded(int(rng.integers(2**31)))
        start = self.integers(pair[0].tolist())

        def published(values: FloatArray, rng: np.random.Generator) -> list[float]:
            given = self.measurement.draw(values, source).integers
            return [float(y - n) for y, n in zip(given, start, strict=True)]

        return black_box(
            self.subject,
            published,
            pair,
            self.measurement.budget,
            runs=runs,
            rng=rng,
            alpha=FALSE_ALARM / 2,
            representation=False,
        )


def exact_divergence(
    subject: str, law: Any, moves: Iterable[tuple[int, ...]], budget: PrivacyBudget
) -> Finding:
    """The divergence of every move of the measured integers, where law and moves are tiny."""
    claim = "exact: the divergence of every move of a record is at most δ"
    document = law.document()
    tail, written = tail_of(document), law_of(document)
    if tail is None or written is None or written.low is None or written.high is None:
        return Finding(subject, claim, None, "the law is not known here, or is unbounded")
    mass = {z: tail(z) - tail(z + 1) for z in range(written.low, written.high + 1)}
    ratio, tried = exp_below(Fraction(budget.epsilon)), list(moves)
    worst = max((_divergence(mass, move, ratio) for move in tried), default=Fraction(0))
    why = f"{len(tried)} moves, δ = {float(worst):.4g} of {float(budget.delta):.4g}"
    return Finding(subject, claim, worst <= budget.delta, why, numbers={"delta": float(worst)})


def _divergence(mass: dict[int, Fraction], move: tuple[int, ...], ratio: Fraction) -> Fraction:
    """Σ max(Π P(z_i) − ratio·Π P(z_i − u_i), 0) over all z; queries that do not move cancel."""
    joint: dict[tuple[Fraction, Fraction], int] = {(Fraction(1), Fraction(1)): 1}
    for far in filter(None, move):
        longer: dict[tuple[Fraction, Fraction], int] = {}
        ends = [min(mass) + min(far, 0), max(mass) + max(far, 0)]
        pairs: dict[tuple[Fraction, Fraction], int] = {}
        for z in range(ends[0], ends[1] + 1):
            pair = mass.get(z, Fraction(0)), mass.get(z - far, Fraction(0))
            pairs[pair] = pairs.get(pair, 0) + 1
        for (a, b), many in joint.items():
            for (p, q), more in pairs.items():
                place = a * p, b * q
                longer[place] = longer.get(place, 0) + many * more
        joint = longer
    return sum(
        (many * max(a - ratio * b, Fraction(0)) for (a, b), many in joint.items()), Fraction(0)
    )
