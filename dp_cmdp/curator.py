"""All that reads the true data without spending: for the curator only, never to be published."""

from dp_cmdp._src.advice.limit import limit as limit
from dp_cmdp._src.verbs.curator import Comparison as Comparison
from dp_cmdp._src.verbs.curator import check as check
from dp_cmdp._src.verbs.curator import compare as compare

__all__ = ["Comparison", "check", "compare", "limit"]
