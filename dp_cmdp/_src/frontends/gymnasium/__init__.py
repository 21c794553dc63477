"""Gymnasium environments as constrained MDPs, and wrappers that charge released costs."""
