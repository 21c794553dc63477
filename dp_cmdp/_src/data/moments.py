"""Dates, times and durations as labels, and all labels as JSON.

Whatever a file says is read as it was written or refused: nothing is guessed from texts such as
"now", and no file is opened for the name of a zone.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import numpy as np

from dp_cmdp._src.base.errors import InvalidArgumentError

#: Times and durations as pandas writes them, and zones that are a constant offset.
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?")
SPAN = re.compile(r"P-?\d{1,9}DT\d{1,2}H\d{1,2}M\d{1,2}(\.\d{1,9})?S")
OFFSET = re.compile(r"UTC([+-]\d\d:\d\d)?")


def plain_moment(item: Any) -> Any:
    """A date as Python has it, a time or duration as pandas has it; None for anything else."""
    if isinstance(item, dt.date) and not isinstance(item, dt.datetime):
        return item
    if not isinstance(item, dt.datetime | dt.timedelta | np.datetime64 | np.timedelta64):
        return None
    import pandas as pd

    try:
        span = isinstance(item, dt.timedelta | np.timedelta64)
        found = pd.Timedelta(item) if span else pd.Timestamp(item)
    except (ValueError, OverflowError):  # beyond the times that pandas has
        return None
    if found is pd.NaT:
        return None
    zone = None if span else cast(Any, found).tz
    return found if zone is None or _is_zone(str(zone)) else cast(Any, found).tz_convert("UTC")


@cache
def _is_zone(name: str) -> bool:
    """Whether a file may name this zone: pandas would open files for others."""
    return OFFSET.fullmatch(name) is not None or name in zoneinfo.available_timezones()


def packed(label: Any) -> Any:
    """Ready for JSON."""
    if isinstance(label, tuple):
        return [packed(part) for part in label]
    if isinstance(label, dt.timedelta):
        return {"span": cast(Any, label).isoformat()}
    if isinstance(label, dt.datetime):
        moment: Any = label
        if moment.tz is None:
            return {"time": moment.isoformat()}
        return {"time": moment.tz_convert(None).isoformat(), "zone": str(moment.tz)}
    return {"date": label.isoformat()} if isinstance(label, dt.date) else label


def unpacked(said: Any) -> Any:
    """What :func:`packed` wrote, read strictly; the caller checks that it is a label."""
    if isinstance(said, list):
        return tuple(unpacked(part) for part in said)
    return _unpacked_moment(**said) if isinstance(said, Mapping) else said


def _unpacked_moment(
    *, span: str = "", time: str = "", date: str = "", zone: str | None = None
) -> Any:
    import pandas as pd

    if date:
        return dt.date.fromisoformat(date)
    if not (SPAN.fullmatch(span) or TIME.fullmatch(time)):
        raise InvalidArgumentError("labels must have times as ISO 8601 writes them")
    if span:
        return pd.Timedelta(span)
    moment = pd.Timestamp(time)
    if zone is None:
        return moment
    if not _is_zone(zone):
        raise InvalidArgumentError("labels must have times of zones that are known")
    return moment.tz_localize("UTC").tz_convert(zone)
