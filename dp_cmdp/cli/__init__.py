"""The command line: ``dp-cmdp COMMAND``, one module per command."""

from dp_cmdp.cli.main import main

__all__ = ["main"]
