"""The file of a parametric program: what is written, and what is read again as its arguments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp_cmdp._documents import Document, read_document
from dp_cmdp.accounting.budget import BLOCKS
from dp_cmdp.data.labels import Labels
from dp_cmdp.data.packing import (
    ENVELOPE_ARRAYS,
    affine_names,
    pack_affine,
    pack_envelope,
    pack_sparse,
    sparse_names,
    unpack_affine,
    unpack_envelope,
    unpack_sparse,
)

if TYPE_CHECKING:
    from dp_cmdp.program.parametric import ParametricLP

FORMAT = "dp_cmdp.ParametricLP/1"
#: Of programs with labels, of entries or variables; others are written as before.
LABELLED = "dp_cmdp.ParametricLP/2"
_MATRICES = ("A_ub", "A_eq")
_VECTORS = ("b_ub", "b_eq", "lower", "upper")
_ARRAYS = (
    *_VECTORS,
    *ENVELOPE_ARRAYS,
    *(name for block in BLOCKS for name in affine_names(block, matrix=block == "A")),
    *(name for matrix in _MATRICES for name in sparse_names(matrix)),
)


def packed(program: ParametricLP) -> Document:
    """The content of a program's file."""
    arrays: dict[str, Any] = {name: getattr(program, name) for name in _VECTORS}
    facts: dict[str, Any] = {
        "envelope": pack_envelope(program.envelope, arrays),
        "row_names": list(program.row_names),
        **{name: pack_affine(name, getattr(program, name), arrays) for name in BLOCKS},
        **{name: pack_sparse(name, getattr(program, name), arrays) for name in _MATRICES},
    }
    if program.variables:
        facts["variables"] = program.variables.facts()
    labelled = program.variables or any(program.envelope.labels)
    return Document(LABELLED if labelled else FORMAT, facts, arrays)


def read(path: str | Path) -> Document:
    """The content of a file that says it is a program."""
    return read_document(path, FORMAT, arrays=_ARRAYS, labelled=LABELLED)


def arguments(source: Document) -> dict[str, Any]:
    """What a document says, as arguments of :class:`dp_cmdp.ParametricLP`."""
    facts, arrays = source.facts, source.arrays
    return {
        "envelope": unpack_envelope(facts["envelope"], arrays),
        "row_names": facts["row_names"],
        "variables": Labels.from_facts(facts.get("variables", [])),
        **{name: arrays[name] for name in _VECTORS},
        **{name: unpack_affine(name, facts[name], arrays) for name in BLOCKS},
        **{name: unpack_sparse(name, facts[name], arrays) for name in _MATRICES},
    }
