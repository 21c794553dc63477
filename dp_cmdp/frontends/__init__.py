"""Doors for models that were stated elsewhere."""
