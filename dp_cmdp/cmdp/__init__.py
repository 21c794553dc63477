"""Constrained Markov decision processes: model, policies, exact solution and evaluation."""
