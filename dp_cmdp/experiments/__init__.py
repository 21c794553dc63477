"""Experiments: sweeps as data, records first, figures from records."""
