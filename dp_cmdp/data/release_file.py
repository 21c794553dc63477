"""The file of a release: what is written, and what is read again as arguments of a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._documents import Document, read_document
from dp_cmdp.accounting.budget import BLOCKS, exact
from dp_cmdp.data.guarantee import Debit, Guarantee, Noise
from dp_cmdp.data.packing import (
    ENVELOPE_ARRAYS,
    TOTALS_ARRAYS,
    affine_names,
    pack_affine,
    pack_envelope,
    pack_totals,
    unpack_affine,
    unpack_envelope,
    unpack_groups,
    unpack_totals,
)
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    from dp_cmdp.data.release import Release

FORMAT = "dp_cmdp.Release/3"
#: Of releases whose envelope has labels; others are written as before.
LABELLED = "dp_cmdp.Release/4"
_PER_ENTRY = ("estimate", "lower", "upper", "step", "draws")
_ARRAYS = (*_PER_ENTRY, *ENVELOPE_ARRAYS)
_OPTIONAL = (
    *TOTALS_ARRAYS,
    *(name for block in BLOCKS for name in affine_names(f"blocks.{block}", matrix=block == "A")),
)


def packed(release: Release) -> Document:
    """The content of a release's file."""
    if release.envelope is None:
        raise InvalidArgumentError(
            "a release must carry its envelope to be saved or named: its guarantee rests on it"
        )
    arrays: dict[str, np.ndarray] = {key: getattr(release, key) for key in _PER_ENTRY}
    facts = release.facts()
    facts["totals"] = release.totals and pack_totals(release.totals, arrays)
    facts["envelope"] = pack_envelope(release.envelope, arrays)
    facts["blocks"] = release.blocks and {
        name: pack_affine(f"blocks.{name}", part, arrays) for name, part in release.blocks.items()
    }
    return Document(LABELLED if any(release.envelope.labels) else FORMAT, facts, arrays)


def read(path: str | Path) -> Document:
    """The content of a file that says it is a release; its claims are not judged yet."""
    return read_document(path, FORMAT, arrays=_ARRAYS, optional=_OPTIONAL, labelled=LABELLED)


def arguments(source: Document) -> dict[str, Any]:
    """What a document says, as arguments of :class:`dp_cmdp.Release`."""
    facts, arrays = source.facts, source.arrays
    for key, kind in (("secure", bool), ("leaks", list), ("version", str), ("noise", list)):
        if not isinstance(facts[key], kind):
            raise InvalidArgumentError(f"{key} must be a {kind.__name__}")
    blocks = facts["blocks"]
    guarantee = Guarantee(
        exact("epsilon", facts["epsilon"]), exact("delta", facts["delta"]), facts["record_size"]
    )
    return {
        **{key: arrays[key] for key in _PER_ENTRY},
        "guarantee": guarantee,
        "method": facts["method"],
        "groups": unpack_groups(facts["groups"]),
        "noise": tuple(Noise.from_facts(part) for part in facts["noise"]),
        "secure": facts["secure"],
        "leaks": tuple(facts["leaks"]),
        "envelope": unpack_envelope(facts["envelope"], arrays),
        "blocks": blocks
        and {name: unpack_affine(f"blocks.{name}", blocks[name], arrays) for name in BLOCKS},
        "totals": facts["totals"] and unpack_totals(facts["totals"], arrays),
        "plan": facts["plan"],
        "ledger": facts["ledger"] and Debit(**facts["ledger"]),
        "version": facts["version"],
    }
