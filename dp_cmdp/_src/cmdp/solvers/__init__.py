"""Solvers of constrained MDPs behind one door, :func:`~dp_cmdp.cmdp.solvers.door.solve_cmdp`."""
