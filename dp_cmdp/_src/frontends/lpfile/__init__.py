"""MPS and LP files as linear programs with private numbers: ``dp.lpfile``."""
