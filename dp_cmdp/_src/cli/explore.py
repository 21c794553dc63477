"""``dp-cmdp explore``: a local page where a private safe policy is designed by looking."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.cli.folder import writable_folder
from dp_cmdp._src.cli.parser import at_least, command

PORT, LARGEST_PORT = 8733, 65535
PRICE_RADIUS = 0.1
MOST_GROUPS, MOST_ADVERTISERS = 100, 20
#: What names each kind of real database, what may be said besides, and who pays.
KINDS = {
    "grid": ("layout", "hazards"),
    "auction": ("auction", "data"),
    "program": ("model", "private", "data"),
}
OPTIONAL = {"grid": ("limits",), "auction": ("price_radius",), "program": ()}
ACCOUNT = ("ledger", "account")
ALL = {name for part in (*KINDS.values(), *OPTIONAL.values(), ACCOUNT) for name in part}

EPILOG = """examples:
  dp-cmdp explore --port 0 --no-browser
  dp-cmdp explore --layout my.json --hazards mine.csv --limits limits.csv \\
      --ledger site.ledger --account site-7
  dp-cmdp explore --model model.mps --private spec.toml --data values.csv \\
      --ledger site.ledger --account plant-3
  dp-cmdp explore --auction 10x5 --data prices.csv --ledger site.ledger --account auction-1

The page is for this machine alone: it listens on 127.0.0.1, answers to that name only, refuses what
other pages ask, and opens for who has the address that is printed at its start. Data that is
invented in the page spends nothing. A real database is named here, with a ledger that knows it; it
is read by a press of Release, after the debit, and never drawn."""


def add_parsers(commands: Any) -> None:
    text = "a local page to design a private safe policy by looking"
    parser = command(commands, "explore", explore, text, EPILOG, "--out")
    parser.add_argument(
        "--port", type=at_least(0), default=PORT, help=f"0: any that is free (default: {PORT})"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    real = parser.add_argument_group("a real database (a grid, a program or an auction)")
    for name, metavar, kind, help in (
        ("layout", "NAME|FILE", None, "the public layout of a grid"),
        ("hazards", "FILE", Path, "its private hazards, JSON or CSV"),
        ("limits", "FILE", Path, "of hazards in CSV: kind,limit (CSV)"),
        ("model", "FILE", Path, "a public .mps or .lp program"),
        ("private", "SPEC", Path, "what is private in it, TOML"),
        ("auction", "GROUPSxADVERTISERS", _auction_size, "an ad auction"),
        ("price-radius", "R", float, f"how far a price may move (default: {PRICE_RADIUS})"),
        ("data", "FILE", Path, "private numbers of the program or the auction (CSV, MPS or LP)"),
        ("ledger", "FILE", Path, "the privacy ledger that pays"),
        ("account", "NAME", None, "name of the database in the ledger"),
    ):
        real.add_argument(f"--{name}", metavar=metavar, type=kind, help=help)


def explore(options: argparse.Namespace) -> int:
    from dp_cmdp._src.base.extras import require

    if options.port > LARGEST_PORT:
        raise InvalidArgumentError(f"--port must be at most {LARGEST_PORT}, got {options.port}")
    custody = _custody(options)
    require("nicegui")
    require("matplotlib")
    from dp_cmdp.explorer.page.app import serve

    def say(address: str) -> None:
        stop = f"explorer  {address}\n          stop it with Ctrl+C"
        print(json.dumps({"address": address}) if options.json else stop, flush=True)

    serve(port=options.port, browser=not options.no_browser, custody=custody, say=say)
    return 0


def _auction_size(text: str) -> tuple[int, int]:
    """Type of ``--auction``."""
    found = re.fullmatch(r"(\d{1,3})x(\d{1,3})", text)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if not (1 <= size[0] <= MOST_GROUPS and 1 <= size[1] <= MOST_ADVERTISERS):
        raise argparse.ArgumentTypeError(
            f"must be GROUPSxADVERTISERS, such as 10x5, with at most {MOST_GROUPS} groups and "
            f"{MOST_ADVERTISERS} advertisers; got {text[:40]!r}"
        )
    return size


def _custody(options: argparse.Namespace) -> Any:
    """The real database, if one is named; it is named wholly or not at all."""
    given = {name for name in ALL if getattr(options, name) is not None}
    if not given:
        return None
    named = {kind: given & {*own, *OPTIONAL[kind]} - {"data"} for kind, own in KINDS.items()}
    kind = next((kind for kind, said in named.items() if said), "program")
    own = KINDS[kind]
    foreign = sorted(given - {*own, *OPTIONAL[kind], *ACCOUNT})
    if foreign:
        raise InvalidArgumentError(
            f"{', '.join(map(_option, foreign))} must not be given for a {kind}: one database is "
            "named at a time"
        )
    missing = [_option(name) for name in (*own, *ACCOUNT) if name not in given]
    if missing:
        raise InvalidArgumentError(
            f"a real database needs {', '.join(missing)} too: it is released against a ledger only"
        )
    from dp_cmdp.explorer.custody import Custody

    with writable_folder(options.out):
        return Custody(_source(kind, options), options.ledger, options.account, options.out)


def _source(kind: str, options: argparse.Namespace) -> Any:
    from dp_cmdp.envs import as_layout
    from dp_cmdp.explorer.sources import AuctionSource, FileSource, GridSource

    if kind == "grid":
        return GridSource(as_layout(options.layout), options.hazards, options.limits)
    if kind == "auction":
        radius = PRICE_RADIUS if options.price_radius is None else options.price_radius
        groups, advertisers = options.auction
        return AuctionSource(groups, advertisers, radius, options.data)
    return FileSource(options.model, options.private, options.data)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
