"""Linear programs with private data: robust rows, exact certificates, answers."""
