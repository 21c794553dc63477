"""Who owns which variables and rows, from public structure alone.

A program is block-separable when its variables split into players such that every database entry
read by A or c is read by one player's variables only. Rows that meet one player's variables only
are *local*: that player keeps them. The others *couple* the players.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

import dp_cmdp as dp
from paper.blocks import Block, Form
from paper.linear import Integers


@dataclass(frozen=True, slots=True)
class Players:
    """The split: the player of each variable, and which rows and equalities join several."""

    of_variable: Integers
    coupling: NDArray[np.bool_]
    coupling_equal: NDArray[np.bool_]

    @property
    def count(self) -> int:
        return int(self.of_variable.max()) + 1


def split(part: Form, labels: ArrayLike | None = None) -> Players:
    """The players given by `labels` (one per variable), or by the records of the envelope.

    Refused when one variable reads two records, or one entry is read by two players' variables.
    """
    owner = _by_record(part) if labels is None else np.asarray(labels)
    if owner.shape != (part.num_variables,):
        raise dp.errors.InvalidArgumentError("players must hold one integer label per variable")
    owner = np.unique(owner, return_inverse=True)[1].astype(np.int64)
    _check_ownership(part, owner)
    return Players(owner, _couples(_pattern(part.A), owner), _couples(part.A_eq, owner))


def _reads(part: Form) -> tuple[Integers, Integers]:
    """Variable and entry of every term of A and c."""
    column = np.concatenate([part.A.col, part.c.row])
    return column, np.concatenate([part.A.entry, part.c.entry])


def _by_record(part: Form) -> Integers:
    """The record each variable reads; a variable that reads none is a player of its own."""
    column, entry = _reads(part)
    changed = sparse.coo_array(part.change)
    record = np.full(part.envelope.size, -1)
    record[changed.coords[1]] = changed.coords[0]
    several = np.bincount(changed.coords[1], minlength=record.size) > 1
    owner = part.change.shape[0] + np.arange(part.num_variables)
    owner[column] = record[entry]
    if several[entry].any() or (owner[column] != record[entry]).any():
        raise dp.errors.RefusedError(
            "cummings2015 needs every variable to belong to one player, but some variable reads "
            "several records of the envelope; group the entries into larger records or name the "
            "players (option players)"
        )
    return owner


def _check_ownership(part: Form, owner: Integers) -> None:
    column, entry = _reads(part)
    first = np.full(part.envelope.size, -1)
    first[entry] = owner[column]
    if (first[entry] != owner[column]).any():
        raise dp.errors.RefusedError(
            "cummings2015 needs every database entry to belong to one player, but some entry is "
            "read by the variables of several players; merge these players (option players)"
        )


def _pattern(block: Block) -> sparse.csr_array:
    """Ones wherever a number is not zero for every database."""
    read = sparse.csr_array((np.ones(block.row.size), (block.row, block.col)), shape=block.shape)
    return sparse.csr_array(abs(block.constant) + read)


def _couples(matrix: sparse.csr_array, owner: Integers) -> NDArray[np.bool_]:
    """Rows that meet the variables of more than one player."""
    entries = sparse.coo_array(matrix)
    row, player = entries.coords[0], owner[entries.coords[1]]
    low = np.full(matrix.shape[0], np.iinfo(np.int64).max)
    high = np.full(matrix.shape[0], -1)
    np.minimum.at(low, row, player)
    np.maximum.at(high, row, player)
    return high > low
