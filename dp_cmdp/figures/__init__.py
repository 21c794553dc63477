"""Pictures, each drawn from records or public objects; matplotlib is imported on first use."""
