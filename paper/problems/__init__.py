"""Ready problems, one builder each, with invented truths."""
