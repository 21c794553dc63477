"""What a release would be worth before it is made, and how to plan one."""

from dp_cmdp.advice.adviser import advise
from dp_cmdp.advice.planning import EpsilonPlan, smallest_epsilon
from dp_cmdp.advice.report import Advice

__all__ = ["Advice", "EpsilonPlan", "advise", "smallest_epsilon"]
