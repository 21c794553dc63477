"""Doors for models that were stated elsewhere."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules={"cvxpy"})
