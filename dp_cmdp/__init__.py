"""Private safe decisions."""

from dp_cmdp._version import __version__ as __version__
