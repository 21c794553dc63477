"""Student's law, for intervals of means.

The quantile is that of ``scipy.stats.t``, bit for bit, without its slow import; the interval is not
``scipy.stats.t.interval``, whose order of operations would change the last bits of what was
published.
"""

from __future__ import annotations

import math
from typing import Any

from dp_cmdp._src.base.validation import FloatArray


def quantile(count: int, level: float) -> float:
    """t for which a mean of `count` samples lies within t standard errors at this level."""
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 0.5 + level / 2))


def half_width(samples: FloatArray, level: float) -> Any:
    """How far the interval of the mean reaches to either side; per column of `samples`."""
    count = samples.shape[0]
    return quantile(count, level) * samples.std(axis=0, ddof=1) / math.sqrt(count)
