"""Results that look at the truth, marked so that no public artefact takes them.

Whoever holds the true database may compare an answer with it; the comparison itself is private.
Such numbers are :class:`CuratorOnly`, and the writers of public files refuse them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dp_cmdp.errors import PrivacyLeakError
from dp_cmdp.storage import write_text


class CuratorOnly(float):
    """A number computed from true data. It computes like a float; public files refuse it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{float(self)!r} (curator only)"


def refuse_curator_values(content: Any, *, where: str = "content") -> None:
    """Raise :class:`PrivacyLeakError` if a curator-only number is anywhere inside `content`."""
    if isinstance(content, CuratorOnly):
        raise PrivacyLeakError(f"{where} is a curator-only result and must not be published")
    if isinstance(content, Mapping):
        for key, value in content.items():
            if key == "curator_only":
                raise PrivacyLeakError(f"{where} has a curator_only part; leave it out")
            refuse_curator_values(value, where=f"{where}.{key}")
    elif isinstance(content, list | tuple | set | frozenset):
        for number, value in enumerate(content):
            refuse_curator_values(value, where=f"{where}[{number}]")


def write_public_json(path: str | Path, content: Mapping[str, Any]) -> Path:
    """Write public facts as JSON, atomically; curator-only results are refused."""
    refuse_curator_values(content)
    return write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
