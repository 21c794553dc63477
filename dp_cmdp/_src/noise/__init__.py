"""Noise on the integers: laws with a privacy bound in fractions, and exact samplers."""
