"""Optimisation engines behind :func:`dp_cmdp.program.linear_program.solve`."""
