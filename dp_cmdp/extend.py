"""What laws, steps and problems of one's own need; less stable than the rest of the face."""

from dp_cmdp._src.data.envelope import UncertaintySet as UncertaintySet
from dp_cmdp._src.noise.laws import Laplace as Laplace
from dp_cmdp._src.noise.laws import Law as Law
from dp_cmdp._src.noise.laws import Sensitivity as Sensitivity
from dp_cmdp._src.noise.one_sided import OneSided as OneSided
from dp_cmdp._src.noise.unbounded import UnboundedLaplace as UnboundedLaplace
from dp_cmdp._src.program.answer import Certificate as Certificate
from dp_cmdp._src.release.measurement import LargestQuery as LargestQuery
from dp_cmdp._src.release.measurement import Measurement as Measurement
from dp_cmdp._src.release.measurement import Query as Query
from dp_cmdp._src.release.strategy import Step as Step
from dp_cmdp._src.verbs.problems import UserProblem as Problem
from dp_cmdp._src.verbs.problems import certified as certified

__all__ = [
    "Certificate",
    "Laplace",
    "LargestQuery",
    "Law",
    "Measurement",
    "OneSided",
    "Problem",
    "Query",
    "Sensitivity",
    "Step",
    "UnboundedLaplace",
    "UncertaintySet",
    "certified",
]
