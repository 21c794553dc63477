"""C sources of the compiled solver, and how they are built."""
