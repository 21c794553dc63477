"""Gymnasium environments as constrained MDPs with private costs."""

from dp_cmdp._src.frontends.gymnasium.load import load
from dp_cmdp._src.frontends.gymnasium.released import ReleasedCosts, StateObservation
from dp_cmdp._src.frontends.gymnasium.shield import Shield

__all__ = ["ReleasedCosts", "Shield", "StateObservation", "load"]
