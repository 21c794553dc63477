"""Constrained Markov decision processes: model, policies, exact solution and evaluation."""

from dp_cmdp.cmdp.evaluation import Evaluation, evaluate
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.policy import Policy

__all__ = ["CMDP", "Evaluation", "Policy", "evaluate"]
