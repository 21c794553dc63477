"""Tables out: envelopes and releases as DataFrames, with the labels of their user."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp.data.envelope import Envelope, Groups
from dp_cmdp.data.labels import SHOWN, Labels

if TYPE_CHECKING:
    import pandas as pd

    from dp_cmdp.data.release import Release

ENTRIES, TOTALS, LOOKS = TABLES = ("entries", "totals", "looks")


def index_of(groups: Groups, labels: Sequence[Labels]) -> pd.Index:
    """The labels of all entries: those of the only group, or pairs of group and label.

    Without any labels, positions.
    """
    import pandas as pd

    sizes = [prod(shape) for _, shape in groups]
    if not any(labels):
        return pd.RangeIndex(sum(sizes))
    if len(groups) == 1:
        return labels[0].index()
    parts = zip(labels, sizes, strict=True)
    named = [label for own, size in parts for label in (own.flat() if own else range(size))]
    # pandas sorts levels when it finds them itself, which labels of several kinds do not allow
    places = {label: k for k, label in enumerate(dict.fromkeys(named))}
    level = np.empty(len(places), dtype=object)
    level[:] = list(places)
    levels: Any = [[name for name, _ in groups], pd.Index(level, tupleize_cols=False)]
    owners = np.repeat(np.arange(len(groups)), sizes).tolist()
    codes = [owners, [places[label] for label in named]]
    return pd.MultiIndex(levels=levels, codes=codes, names=["group", "label"])


def _group_names(groups: Groups) -> np.ndarray:
    return np.repeat([name for name, _ in groups], [prod(shape) for _, shape in groups])


def _framed(
    columns: dict[str, Any], groups: Groups, labels: Sequence[Labels], group: str | None
) -> pd.DataFrame:
    """One row per entry: labels are the index, positions and names of groups are columns."""
    import pandas as pd

    if group is not None:
        names = [name for name, _ in groups]
        at = names.index(_check.one_of("group", group, tuple(names)))
        start = sum(prod(shape) for _, shape in groups[:at])
        inside = slice(start, start + prod(groups[at][1]))
        columns = {name: part[inside] for name, part in columns.items()}
        groups, labels = groups[at : at + 1], labels[at : at + 1]
    if not any(labels):
        inner = np.concatenate([np.arange(prod(shape)) for _, shape in groups])
        columns = {"group": _group_names(groups), "entry": inner, **columns}
    return pd.DataFrame(columns, index=index_of(groups, labels))


def envelope_frame(envelope: Envelope, group: str | None = None) -> pd.DataFrame:
    """One row per entry: lower, upper, radius, record."""
    facts = {name: getattr(envelope, name) for name in ("lower", "upper", "radius")}
    facts["record"] = envelope.records
    return _framed(facts, envelope.groups, envelope.labels, group)


def entries_frame(release: Release, group: str | None = None) -> pd.DataFrame:
    """One row per released entry, beside its public bounds where the release has them."""
    columns = {name: getattr(release, name) for name in ("estimate", "lower", "upper")}
    bounds = public_bounds(release)
    labels: Sequence[Labels] = ()
    if bounds is not None and release.envelope is not None:
        low, high = bounds
        columns |= {"public_lower": low, "public_upper": high}
        columns["saturated"] = (release.lower <= low) & (release.upper >= high)
        labels = release.envelope.labels
    return _framed(columns, release.groups, labels, group)


def public_bounds(release: Release) -> tuple[FloatArray, FloatArray] | None:
    """Bounds of the released entries that were public before; None for those of blocks."""
    if release.method != "database" or release.envelope is None:
        return None
    return release.envelope.lower, release.envelope.upper


def totals_frame(release: Release) -> pd.DataFrame:
    """One row per total: what it weighs, its bound, and what was known without it."""
    import pandas as pd

    columns = [
        "weighs", "entries", "estimate", "bound", "interval_bound", "public_bound",
        "scale", "support", "look", "epsilon", "delta", "share",
    ]  # fmt: skip
    totals, bounds = release.totals, public_bounds(release)
    if totals is None or bounds is None:
        return pd.DataFrame(columns=pd.Index(columns), index=pd.RangeIndex(0, name="total"))
    number, noise = len(release.noise), release.noise[-1]
    steps = float((noise.certificate or {}).get("steps", 1))
    spent = float(noise.epsilon)
    names = index_of(release.groups, release.envelope.labels if release.envelope else ()).tolist()
    rows = np.split(totals.W.indices, totals.W.indptr[1:-1])
    values = {
        "weighs": [_weighed(names, row) for row in rows],
        "entries": np.diff(totals.W.indptr),
        "estimate": totals.estimate,
        "bound": totals.q,
        "interval_bound": _largest(totals.W, release.lower, release.upper),
        "public_bound": _largest(totals.W, *bounds),
        "scale": totals.step * steps * noise.scale,
        "support": totals.step * totals.support,
        "look": number,
        "epsilon": spent,
        "delta": float(noise.delta),
        "share": spent / float(release.guarantee.epsilon),
    }
    return pd.DataFrame(
        values, columns=pd.Index(columns), index=pd.RangeIndex(len(totals), name="total")
    )


def shown(label: Any) -> str:
    """A label as text; the parts of several levels side by side."""
    return ", ".join(map(shown, label)) if isinstance(label, tuple) else str(label)


def _weighed(names: list[Any], row: np.ndarray) -> str:
    first = "; ".join(shown(names[k]) for k in row[:SHOWN])
    return f"{first} and {row.size - SHOWN} more" if row.size > SHOWN else first


def _largest(W: Any, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The largest Wθ over a box, in floats: for tables and pictures."""
    return W.maximum(0) @ upper + W.minimum(0) @ lower


def looks_frame(release: Release) -> pd.DataFrame:
    """One row per look: what was read, under which noise, with which part of the budget."""
    import pandas as pd

    names = ("block", "law", "calibration", "scale", "support")
    rows = [
        {name: getattr(part, name) for name in names}
        | {
            "epsilon": float(part.epsilon),
            "delta": float(part.delta),
            "share": float(part.epsilon / release.guarantee.epsilon)
            if release.guarantee.epsilon
            else 0.0,
        }
        for part in release.noise
    ]
    columns = pd.Index([*names, "epsilon", "delta", "share"])
    index = pd.RangeIndex(1, len(rows) + 1, name="look")
    return pd.DataFrame(rows, columns=columns, index=index)
