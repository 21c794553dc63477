"""What everything else stands on: errors, validation, exact arithmetic, files."""
