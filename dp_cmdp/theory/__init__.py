"""How much privacy can cost, and must: bounds that are certain, in the mean, or likely.

:mod:`~dp_cmdp.theory.accuracy` has the certified bounds, :mod:`~dp_cmdp.theory.simulated_loss` the
one from simulated releases, :mod:`~dp_cmdp.theory.one_release` that of one release which was made,
:mod:`~dp_cmdp.theory.public_interval` what is known without any data,
:mod:`~dp_cmdp.theory.certainty_limit` what no mechanism with certain answers can avoid, and
:mod:`~dp_cmdp.theory.paper.printed_bound` the paper's theorem, printed and repaired.
"""

from dp_cmdp.theory.accuracy import AccuracyBound, accuracy_bound
from dp_cmdp.theory.certainty_limit import CertaintyLimit, certainty_limit
from dp_cmdp.theory.feasible_set import concentration_radius, diameter_bound
from dp_cmdp.theory.one_release import instance_bound
from dp_cmdp.theory.public_interval import public_interval
from dp_cmdp.theory.simulated_loss import SampledMean

__all__ = [
    "AccuracyBound",
    "CertaintyLimit",
    "SampledMean",
    "accuracy_bound",
    "certainty_limit",
    "concentration_radius",
    "diameter_bound",
    "instance_bound",
    "public_interval",
]
