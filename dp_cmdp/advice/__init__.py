"""What a release would be worth before it is made, and how to plan one."""

from dp_cmdp.advice.adviser import advise
from dp_cmdp.advice.planning import Plan, smallest_epsilon
from dp_cmdp.advice.report import Advice

__all__ = ["Advice", "Plan", "advise", "smallest_epsilon"]
