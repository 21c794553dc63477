"""Laws from the documents that describe them; nothing is proved here, see ``law.delta``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.noise.digits import PRECISION
from dp_cmdp._src.noise.laws import Laplace, Law, UnboundedLaplace
from dp_cmdp._src.noise.one_sided import MAX_CELLS, OneSided

_HEX = re.compile("0|[1-9a-f][0-9a-f]*")

_READERS: dict[str, tuple[frozenset[str], Callable[[Mapping[str, Any]], Law]]] = {
    "laplace": (
        frozenset({"support", "thresholds"}),
        lambda said: Laplace(_integer(said["support"]), _integers(said["thresholds"])),
    ),
    "unbounded laplace": (
        frozenset({"thresholds", "onward"}),
        lambda said: UnboundedLaplace(_integers(said["thresholds"]), _integer(said["onward"])),
    ),
    "one-sided": (
        frozenset({"cell", "weights"}),
        lambda said: OneSided(_integer(said["cell"]), _integers(said["weights"])),
    ),
}


def law_from_document(said: Mapping[str, Any]) -> Law:
    """The law that wrote the document; a document written in another way is refused."""
    fields, read = _READERS.get(said.get("law", ""), (frozenset(), None))
    if read is None or set(said) != fields | {"law"}:
        known = ", ".join(_READERS)
        raise InvalidArgumentError(f"the law of a measurement must be one of: {known}")
    return read(said)


def _integer(text: Any) -> int:
    if not isinstance(text, str) or len(text) > PRECISION // 4 + 1 or not _HEX.fullmatch(text):
        raise InvalidArgumentError("integers of a law are hexadecimal digits, at most 2^256")
    return int(text, 16)


def _integers(texts: Any) -> tuple[int, ...]:
    if not isinstance(texts, list) or len(texts) > MAX_CELLS:
        raise InvalidArgumentError(f"a law is given by at most {MAX_CELLS} integers")
    return tuple(map(_integer, texts))
