"""``python -m dp_cmdp``: the command line."""

from dp_cmdp.cli import main

raise SystemExit(main())
