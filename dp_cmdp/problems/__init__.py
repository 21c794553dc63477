"""Ready problems, one builder each."""
