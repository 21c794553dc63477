"""Constrained Markov decision processes: model, policies, exact solution and evaluation."""

from dp_cmdp.cmdp.model import CMDP

__all__ = ["CMDP"]
