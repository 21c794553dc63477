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

from dp_cmdp import _check
from dp_cmdp.data.affine import Affine, IntArray
from dp_cmdp.errors import AssumptionError, InvalidArgumentError
from dp_cmdp.program.parametric import ParametricLP

LABEL = "cummings2015: block-separable"


@dataclass(frozen=True, slots=True)
class Players:
    """The split of a program.

    Attributes
    ----------
    of_variable : IntArray
        Player of each variable, numbered from 0.
    coupling, coupling_public, coupling_equal : bool arrays
        Which sensitive, public and equality rows join several players.
    """

    of_variable: IntArray
    coupling: NDArray[np.bool_]
    coupling_public: NDArray[np.bool_]
    coupling_equal: NDArray[np.bool_]

    @property
    def count(self) -> int:
        return int(self.of_variable.max()) + 1


def split(program: ParametricLP, labels: ArrayLike | None = None) -> Players:
    """The players given by `labels` (one per variable), or by the records of the envelope.

    Raises
    ------
    AssumptionError
        When one variable reads two records, or one database entry two players' variables.

    Notes
    -----
    **Privacy.** *Public*.
    """
    owner = _by_record(program) if labels is None else _check.integers("players", labels)
    if owner.shape != (program.num_variables,):
        raise InvalidArgumentError("players must hold one integer label per variable")
    owner = np.unique(owner, return_inverse=True)[1].astype(np.int64)
    _check_ownership(program, owner)
    return Players(
        of_variable=owner,
        coupling=_couples(_pattern(program.A), owner),
        coupling_public=_couples(program.A_ub, owner),
        coupling_equal=_couples(program.A_eq, owner),
    )


def _by_record(program: ParametricLP) -> IntArray:
    """The record each variable reads; a variable that reads none is a player of its own."""
    records = program.envelope.records
    n = program.num_variables
    column = np.concatenate([program.A.col, program.c.row])
    record = records[np.concatenate([program.A.entry, program.c.entry])]
    owner = records.max() + 1 + np.arange(n)
    owner[column] = record
    if (owner[column] != record).any():
        raise AssumptionError(
            "cummings2015 needs every variable to belong to one player, but some variable reads "
            "several records of the envelope; group the entries into larger records or name the "
            "players (option players)",
            label=LABEL,
        )
    return owner


def _check_ownership(program: ParametricLP, owner: IntArray) -> None:
    entry = np.concatenate([program.A.entry, program.c.entry])
    player = owner[np.concatenate([program.A.col, program.c.row])]
    first = np.full(program.envelope.num_entries, -1)
    first[entry] = player
    if (first[entry] != player).any():
        raise AssumptionError(
            "cummings2015 needs every database entry to belong to one player, but some entry is "
            "read by the variables of several players; merge these players (option players)",
            label=LABEL,
        )


def _pattern(part: Affine) -> sparse.csr_array:
    """Ones wherever an entry is not zero for every database."""
    shape = (part.shape[0], part.shape[1])
    read = sparse.csr_array((np.ones(part.row.size), (part.row, part.col)), shape=shape)
    return sparse.csr_array(abs(part.constant) + read)


def _couples(matrix: sparse.csr_array, owner: IntArray) -> NDArray[np.bool_]:
    """Rows that meet the variables of more than one player."""
    entries = sparse.coo_array(matrix)
    row, player = entries.coords[0], owner[entries.coords[1]]
    low = np.full(matrix.shape[0], np.iinfo(np.int64).max)
    high = np.full(matrix.shape[0], -1)
    np.minimum.at(low, row, player)
    np.maximum.at(high, row, player)
    return high > low
