"""The command line: one command per verb."""

from dp_cmdp._src.cli.main import main as main
