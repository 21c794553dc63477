"""Solvers of constrained MDPs: compiled policies (`pool`), and HiGHS (`occupancy_lp`, `row_solver`)."""
