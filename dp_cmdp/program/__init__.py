"""Linear programs, those that read a database, and their robust counterparts."""
