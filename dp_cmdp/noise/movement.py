"""How far one record can move the numbers that are perturbed, in exact arithmetic.

A :class:`Movement` lists, for every pair of a record and a number that the record meets, the most
that the number can move when that record changes. On a lattice of step g a number that moves by at
most a moves by at most ⌈a/g⌉ integers, so the integers moved are counted, not estimated: per
number, and per record over all of its numbers (ℓ1). The noise is calibrated to that count and its
certificate is compared with it before anything is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dp_cmdp import _exact as exact
from dp_cmdp._check import FloatArray
from dp_cmdp.data.affine import Affine, IntArray
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.certificate import NoiseCertificate
from dp_cmdp.noise.lattice import Lattice


@dataclass(frozen=True, slots=True, eq=False)
class Movement:
    """Pairs (record, number) with how far that record can move that number.

    Attributes
    ----------
    record, number : (pairs,) int arrays
    amount : (pairs,) float array
        Exact bounds, rounded up.

    Notes
    -----
    **Privacy.** *Public*: made from the radii, the records and the structure.
    """

    record: IntArray
    number: IntArray
    amount: FloatArray

    @classmethod
    def of_entries(cls, radius: FloatArray, records: IntArray) -> Movement:
        """The entries of a database themselves."""
        return cls(records, np.arange(radius.size), radius)

    @classmethod
    def of_block(cls, part: Affine, envelope: Envelope) -> Movement:
        """The sensitive entries of A, b or c, which are evaluated in floats.

        All terms of one record at one place move it together, and both evaluations may be off by
        their rounding.
        """
        height = part.sensitive()[0].size
        keys, pair = np.unique(
            envelope.records[part.entry] * height + part.sensitive()[2], return_inverse=True
        )
        number = keys % height
        rounding = part.rounding(envelope.lower, envelope.upper)[number]
        amount = exact.row_sums_up(
            np.concatenate([pair, np.arange(keys.size)]),
            [
                np.concatenate([np.abs(part.coefficient), np.full(keys.size, 2.0)]),
                np.concatenate([envelope.radius[part.entry], rounding]),
            ],
            num_rows=keys.size,
        )
        return cls(keys // height, number, amount)

    @property
    def total(self) -> float:
        """The most that one record moves all of its numbers together (ℓ1), rounded up."""
        size = int(self.record.max()) + 1
        return float(exact.row_sums_up(self.record, [self.amount], num_rows=size).max())

    def integers(self, lattice: Lattice) -> tuple[int, int]:
        """The most integers that one number moves, and one record over all of its numbers."""
        moved = lattice.integers_moved(self.amount, self.number)
        whole = np.zeros(int(self.record.max()) + 1, dtype=np.int64)
        np.add.at(whole, self.record, moved)
        return int(moved.max()), int(whole.max())

    def check_covered(self, lattice: Lattice, proof: NoiseCertificate) -> None:
        """Raise unless the certificate covers every integer that one record can move."""
        each, whole = self.integers(lattice)
        alone = np.unique(self.record).size == self.record.size
        if each > proof.steps or whole > proof.entries * proof.steps:
            raise InvalidArgumentError(
                f"query moves by {each} lattice steps in one number and {whole} in all, more than "
                f"the noise covers ({proof.steps} and {proof.entries * proof.steps})"
            )
        if proof.law == "table" and not alone:
            raise InvalidArgumentError(
                "query must move one number at a time for optimal noise; use another calibration"
            )
