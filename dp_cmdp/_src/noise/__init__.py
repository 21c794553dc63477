"""Noise on the integers: laws with a privacy bound in fractions, and exact samplers."""

from dp_cmdp._src.noise.laws import Laplace as Laplace
from dp_cmdp._src.noise.laws import Law as Law
from dp_cmdp._src.noise.laws import Sensitivity as Sensitivity
from dp_cmdp._src.noise.laws import UnboundedLaplace as UnboundedLaplace
from dp_cmdp._src.noise.one_sided import OneSided as OneSided
