"""The outcomes of a release, in its file and as a table of measured integers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy import sparse

from dp_cmdp._src.accounting.budget import amount, stated
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.data.envelope import Envelope
from dp_cmdp._src.data.frames import entries_frame
from dp_cmdp._src.noise.laws import PRECISION, Laplace, Law
from dp_cmdp._src.noise.one_sided import MAX_CELLS, OneSided
from dp_cmdp._src.noise.unbounded import UnboundedLaplace
from dp_cmdp._src.release.measurement import LargestQuery, Measurement, Outcome, Query
from dp_cmdp._src.release.release import Release

if TYPE_CHECKING:
    import pandas as pd

#: The longest integer of a file: noise stays below 2^62, sums of cells are not much larger.
LONGEST_INTEGER = 100
_PLACES = ("weight_row", "weight_entry", "weight")
_OUTCOME_KEYS = {
    "name", "kind", "rows", *_PLACES, "centres", "law", "epsilon", "delta", "integers",
}  # fmt: skip
_HEX = re.compile("0|[1-9a-f][0-9a-f]*")

_FIELDS = {
    "laplace": {"law", "support", "thresholds"},
    "unbounded laplace": {"law", "thresholds", "onward"},
    "one-sided": {"law", "cell", "weights"},
}


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    measurement = outcome.measurement
    query = measurement.query
    table = query.weights.tocoo()
    centres = query.centres if isinstance(query, LargestQuery) else ()
    return {
        "name": measurement.name,
        "kind": "largest" if centres else "linear",
        "rows": table.shape[0],
        "weight_row": table.coords[0].astype(np.int64),
        "weight_entry": table.coords[1].astype(np.int64),
        "weight": table.data,
        "centres": [str(centre) for centre in centres],
        "law": _law_document(measurement.law),
        "epsilon": str(measurement.budget.epsilon),
        "delta": str(measurement.budget.delta),
        "integers": [str(number) for number in outcome.integers],
    }


def _law_document(law: Any) -> dict[str, Any]:
    """Of a law of somebody else's only the name: its release can be saved, but not proved again."""
    known = hasattr(law, "document")
    return law.document() if known else {"law": f"{type(law).__module__}.{type(law).__qualname__}"}


def outcome_from(envelope: Envelope, said: Mapping[str, Any]) -> Outcome:
    """An outcome from its document, through the constructors that refuse what is not proved."""
    if set(said) != _OUTCOME_KEYS or not isinstance(said["name"], str):
        raise InvalidArgumentError("an outcome must hold a query, a law, a budget and integers")
    largest = said["kind"] == "largest"
    rows = len(said["centres"] if largest else said["integers"])
    if said["kind"] not in ("linear", "largest") or type(said["rows"]) is not int:
        raise InvalidArgumentError("a query must be linear or largest, with a number of rows")
    if said["rows"] != rows:
        raise InvalidArgumentError("an outcome must hold one integer or centre per row of weights")
    weights = _weights(said, envelope.size)
    query = Query(envelope, weights)
    if largest:
        query = LargestQuery(envelope, weights, tuple(map(_integer, said["centres"])))
    elif said["centres"]:
        raise InvalidArgumentError("linear queries have no centres")
    budget = amount(stated(said["epsilon"]), stated(said["delta"]))
    measurement = Measurement(query, law_from_document(said["law"]), budget, said["name"])
    integers = tuple(map(_integer, said["integers"]))
    if len(integers) != query.size:
        raise InvalidArgumentError("an outcome must hold one integer per query")
    return Outcome(measurement, integers)


def law_from_document(said: Mapping[str, Any]) -> Law:
    """The law that wrote the document; a document written in another way is refused."""
    name = said.get("law")
    if not isinstance(name, str) or set(said) != _FIELDS.get(name):
        known = ", ".join(_FIELDS)
        raise InvalidArgumentError(f"the law of a measurement must be one of: {known}")
    if name == "one-sided":
        return OneSided(_digits(said["cell"]), _tables(said["weights"]))
    thresholds = _tables(said["thresholds"])
    if name == "laplace":
        return Laplace(_digits(said["support"]), thresholds)
    return UnboundedLaplace(thresholds, _digits(said["onward"]))


def _digits(text: Any) -> int:
    if not isinstance(text, str) or len(text) > PRECISION // 4 + 1 or not _HEX.fullmatch(text):
        raise InvalidArgumentError("integers of a law are hexadecimal digits, at most 2^256")
    return int(text, 16)


def _tables(texts: Any) -> tuple[int, ...]:
    found = cast("list[Any]", texts) if isinstance(texts, list) else [None]
    if len(found) > MAX_CELLS:
        raise InvalidArgumentError(f"a law is given by at most {MAX_CELLS} integers")
    return tuple(map(_digits, found))


def _weights(said: Mapping[str, Any], entries: int) -> sparse.csr_array:
    """The weights of a document, each place once and none of them 0."""
    row, entry, data = (np.asarray(said[name]) for name in _PLACES)
    if any(part.dtype != np.int64 or part.ndim != 1 for part in (row, entry, data)):
        raise InvalidArgumentError("weights must be integers, with a row and an entry each")
    found = sparse.csr_array((data, (row, entry)), shape=(said["rows"], entries))
    found.sum_duplicates()
    if found.nnz != data.size or not data.all():
        raise InvalidArgumentError("weights must name each place once, and not be 0")
    return found


def _integer(text: Any) -> int:
    if not isinstance(text, str) or len(text) > LONGEST_INTEGER or str(int(text)) != text:
        raise InvalidArgumentError("integers must be written as decimal digits")
    return int(text)


def queries_frame(release: Release) -> pd.DataFrame:
    import pandas as pd

    table = entries_frame(release.envelope, {})
    names = (table["entry"] if "entry" in table.columns else table.index).tolist()
    rows = []
    for outcome in release.outcomes:
        measurement, law = outcome.measurement, outcome.measurement.law
        W, spent = measurement.query.weights, measurement.budget
        spans = list(pairwise(W.indptr.tolist()))
        if isinstance(measurement.query, LargestQuery):
            spans = [(0, W.nnz)]
        for (a, b), integer in zip(spans, outcome.integers, strict=True):
            weighed = [names[k] for k in dict.fromkeys(W.indices[a:b].tolist())]
            said = ", ".join(map(str, weighed[:3])) + (", …" if len(weighed) > 3 else "")
            query = measurement.name, len(weighed), said, integer
            noise = type(law).__name__, law.low, law.high
            rows.append((*query, *noise, float(spent.epsilon), float(spent.delta)))
    columns = [
        "measurement", "entries", "weighs", "integer", "noise", "noise_low", "noise_high",
        "epsilon", "delta",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns, dtype=object)
