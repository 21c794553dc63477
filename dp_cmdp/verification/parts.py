"""The blocks of a release with their noise, once names and sizes agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import BLOCKS
from dp_cmdp.data.affine import Affine
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.certificate import NoiseCertificate

if TYPE_CHECKING:
    from dp_cmdp.data.envelope import Envelope
    from dp_cmdp.data.release import Noise, Release


#: How the noise of measured totals is named.
TOTALS = "totals"


@dataclass(frozen=True, slots=True)
class Part:
    """A look of a release: its noise, and where its entries are. `affine` for Algorithm 1."""

    noise: Noise
    certificate: NoiseCertificate | None
    span: slice
    affine: Affine | None

    @property
    def is_totals(self) -> bool:
        return self.noise.block == TOTALS


def refuse_unless(holds: bool, why: str) -> None:
    if not holds:
        raise InvalidArgumentError(why)


def envelope_of(release: Release) -> Envelope:
    if release.envelope is None:
        raise InvalidArgumentError("it does not carry its envelope")
    return release.envelope


def sensitive_blocks(release: Release) -> dict[str, Affine]:
    """The blocks that read the database, in the order of the released entries."""
    blocks = release.blocks or {}
    refuse_unless(set(blocks) == set(BLOCKS), "a release of blocks must carry A, b and c")
    A, b, c = (blocks[name] for name in BLOCKS)
    refuse_unless(A.shape == b.shape + c.shape, "its blocks A, b and c do not fit each other")
    return {name: blocks[name] for name in BLOCKS if not blocks[name].is_public}


def parts_of(release: Release) -> list[Part]:
    """The blocks of a release with their noise, once names and sizes agree."""
    envelope = envelope_of(release)
    if release.method == "database":
        refuse_unless(release.groups == envelope.groups, "its groups are not the envelope's")
        refuse_unless(release.blocks is None, "a database release has no blocks")
        return _looks(release)
    affine = dict(sensitive_blocks(release))
    sizes = [part.sensitive()[0].size for part in affine.values()]
    groups = tuple((name, (size,)) for name, size in zip(affine, sizes, strict=True))
    refuse_unless(release.groups == groups, "its groups are not the entries of its blocks")
    entries = max(int(part.entry.max()) for part in affine.values())
    refuse_unless(entries < envelope.num_entries, "its blocks read beyond the envelope")
    if not release.noise:
        return []
    named = [noise.block for noise in release.noise]
    refuse_unless(named == list(affine), f"its noise must name {', '.join(affine)}")
    starts = np.cumsum([0, *sizes])
    return [
        _part(noise, slice(int(start), int(start) + size), affine[noise.block])
        for noise, start, size in zip(release.noise, starts, sizes, strict=False)
    ]


def _looks(release: Release) -> list[Part]:
    """The looks of a database release: at its entries, at totals, at both, or none."""
    expected = {"database", TOTALS} if release.totals is not None else {"database"}
    named = [noise.block for noise in release.noise]
    refuse_unless(
        len(set(named)) == len(named) and set(named) <= expected and named == sorted(named),
        f"its noise must name {' and '.join(sorted(expected))}",
    )
    refuse_unless(
        (TOTALS in named) == (release.totals is not None), "its totals and their noise go together"
    )
    return [_part(noise, slice(0, release.estimate.size), None) for noise in release.noise]


def _part(noise: Noise, span: slice, affine: Affine | None) -> Part:
    proof = noise.certificate
    return Part(noise, None if proof is None else NoiseCertificate.from_facts(proof), span, affine)


def entry_bounds(release: Release) -> tuple[FloatArray, FloatArray]:
    """Public bounds of the released entries."""
    envelope = envelope_of(release)
    if release.method == "database":
        return envelope.lower, envelope.upper
    ends = [
        part.bounds(envelope.lower, envelope.upper) for part in sensitive_blocks(release).values()
    ]
    return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])
