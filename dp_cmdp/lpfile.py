"""MPS and LP files as linear programs with private numbers."""

from dp_cmdp._src.frontends.lpfile.program import load, values

__all__ = ["load", "values"]
