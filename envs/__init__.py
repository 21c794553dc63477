"""Gymnasium environments that carry a private hazard database."""
