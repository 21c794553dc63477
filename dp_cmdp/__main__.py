"""``python -m dp_cmdp``: the command line."""

from dp_cmdp._src.cli.main import main

raise SystemExit(main())
