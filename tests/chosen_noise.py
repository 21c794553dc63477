"""Random bytes that make the shipped samplers draw a chosen number.

The samplers turn bytes into noise; these sources are the bytes that lead to a given draw, so that
rare draws (both ends of the support, no noise at all) go through the shipped code.
"""

from __future__ import annotations

import numpy as np

from dp_cmdp.noise.digits import TAIL, WORD
from dp_cmdp.noise.laplace import LatticeLaplace
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.plans import LatticeBounded, LatticeUnbounded
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.noise.weight_table import HEAD, REST


class ChosenDigits:
    """Bytes of a signed magnitude drawn by its binary digits; `onward` for untruncated noise."""

    def __init__(self, thresholds: tuple[int, ...], number: int, *, onward: bool) -> None:
        self.thresholds, self.number, self.onward = thresholds, number, onward
        self.waiting: list[bytes] = []
        self.proposals = 0

    def bytes(self, count: int) -> bytes:
        if not self.waiting:
            self.proposals += 1
            assert self.proposals < 50, "the sampler refuses a number of its support"
            self.waiting = self._proposal(count // (WORD // 8 * len(self.thresholds)))
        answer = self.waiting.pop(0)
        assert len(answer) == count
        return answer

    def _proposal(self, batch: int) -> list[bytes]:
        size = abs(self.number)
        bits = [size >> place & 1 for place in range(len(self.thresholds))]
        assert size >> len(bits) == 0
        words = [0 if bit else 2**WORD - 1 for bit in bits]
        parts = [np.repeat(np.array(words, dtype=np.uint32), batch).tobytes()]
        ties = sum(bit and not t >> TAIL for bit, t in zip(bits, self.thresholds, strict=True))
        parts += [bytes(TAIL // 8)] * (ties * batch)
        if self.onward:
            parts.append(b"\xff" * (batch * WORD // 8))
        return [*parts, bytes([self.number < 0]) * batch]


class ChosenCell:
    """Bytes of a draw from a table of weights: a cell, then a point inside it."""

    def __init__(self, law: OptimalNoise, point: int) -> None:
        weights, cell = law.certificate.thresholds, law.certificate.cell
        begin = sum(weights[: point // cell])
        self.words = [(begin >> REST) + 1, point % cell] if cell > 1 else [(begin >> REST) + 1]
        assert begin >> REST < begin + weights[point // cell] >> REST
        self.turn = 0

    def bytes(self, count: int) -> bytes:
        word = self.words[self.turn % len(self.words)]
        self.turn += 1
        return np.full(count // (HEAD // 8), word, dtype=np.uint64).tobytes()


def choosing(plan: LatticeBounded | LatticeUnbounded, number: int):
    """A stand-in for a Generator with which `plan` draws `number`, for every value.

    For bounded noise it counts from 0 to the width, for untruncated noise it is the noise itself.
    """
    law = plan.noise
    if isinstance(law, LatticeTruncatedLaplace):
        return ChosenDigits(law.certificate.thresholds, number - law.support, onward=False)
    if isinstance(law, LatticeLaplace):
        return ChosenDigits(law.certificate.thresholds[:-1], number, onward=True)
    return ChosenCell(law, number)
