"""Laws from the documents that describe them; nothing is proved here, see ``law.delta``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.noise.laws import PRECISION, Laplace, Law
from dp_cmdp._src.noise.one_sided import MAX_CELLS, OneSided
from dp_cmdp._src.noise.unbounded import UnboundedLaplace

_HEX = re.compile("0|[1-9a-f][0-9a-f]*")

_FIELDS = {
    "laplace": {"law", "support", "thresholds"},
    "unbounded laplace": {"law", "thresholds", "onward"},
    "one-sided": {"law", "cell", "weights"},
}


def law_from_document(said: Mapping[str, Any]) -> Law:
    """The law that wrote the document; a document written in another way is refused."""
    name = said.get("law")
    if not isinstance(name, str) or set(said) != _FIELDS.get(name):
        known = ", ".join(_FIELDS)
        raise InvalidArgumentError(f"the law of a measurement must be one of: {known}")
    if name == "one-sided":
        return OneSided(_integer(said["cell"]), _integers(said["weights"]))
    thresholds = _integers(said["thresholds"])
    if name == "laplace":
        return Laplace(_integer(said["support"]), thresholds)
    return UnboundedLaplace(thresholds, _integer(said["onward"]))


def _integer(text: Any) -> int:
    if not isinstance(text, str) or len(text) > PRECISION // 4 + 1 or not _HEX.fullmatch(text):
        raise InvalidArgumentError("integers of a law are hexadecimal digits, at most 2^256")
    return int(text, 16)


def _integers(texts: Any) -> tuple[int, ...]:
    found = cast("list[Any]", texts) if isinstance(texts, list) else [None]
    if len(found) > MAX_CELLS:
        raise InvalidArgumentError(f"a law is given by at most {MAX_CELLS} integers")
    return tuple(map(_integer, found))
