"""Solvers of constrained MDPs: compiled policies (`pool`), HiGHS (`occupancy_lp`, `row_solver`)."""
