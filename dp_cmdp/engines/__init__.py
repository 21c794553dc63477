"""Optimisation engines behind :func:`dp_cmdp.lp.solve`."""
