"""Results that look at the truth, marked so that no public artefact takes them.

Whoever holds the true database may compare an answer with it; the comparison itself is private.
Such numbers are :class:`CuratorOnly`, and the writers of public files refuse them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dp_cmdp.errors import PrivacyLeakError
from dp_cmdp.storage import write_text


class CuratorOnly(float):
    """A number computed from true data: public files refuse it.

    It computes like a float, and what is computed from it with Python numbers stays marked.
    ``float(number)`` takes the mark off, which is for simulations on invented data. Arrays of
    numpy keep no marks.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{float(self)!r} (curator only)"


def _marked(name: str) -> Callable[..., Any]:
    plain = getattr(float, name)

    def operation(self: CuratorOnly, *others: Any) -> Any:
        result = plain(self, *others)
        return result if result is NotImplemented else CuratorOnly(result)

    operation.__name__ = name
    return operation


for _name in ("add", "sub", "mul", "truediv"):
    for _side in ("", "r"):
        setattr(CuratorOnly, f"__{_side}{_name}__", _marked(f"__{_side}{_name}__"))
for _name in ("neg", "pos", "abs"):
    setattr(CuratorOnly, f"__{_name}__", _marked(f"__{_name}__"))


def refuse_curator_values(content: Any, *, where: str = "content") -> None:
    """Raise :class:`PrivacyLeakError` if a curator-only number is anywhere inside `content`."""
    if isinstance(content, CuratorOnly):
        raise PrivacyLeakError(f"{where} is a curator-only result and must not be published")
    if is_dataclass(content) and not isinstance(content, type):
        content = {field.name: getattr(content, field.name) for field in fields(content)}
    if isinstance(content, Mapping):
        for key, value in content.items():
            if key == "curator_only":
                raise PrivacyLeakError(f"{where} has a curator_only part; leave it out")
            refuse_curator_values(key, where=f"a key of {where}")
            refuse_curator_values(value, where=f"{where}.{key}")
    elif isinstance(content, np.ndarray) and content.dtype == object:
        refuse_curator_values(content.ravel().tolist(), where=where)
    elif isinstance(content, list | tuple | set | frozenset):
        for number, value in enumerate(content):
            refuse_curator_values(value, where=f"{where}[{number}]")


def write_public_json(path: str | Path, content: Mapping[str, Any]) -> Path:
    """Write public facts as JSON, atomically; curator-only results are refused."""
    refuse_curator_values(content)
    return write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
