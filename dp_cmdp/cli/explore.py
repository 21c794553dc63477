"""``dp-cmdp explore``: a local page where a private safe policy is designed by looking."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dp_cmdp._extras import require
from dp_cmdp.cli.values import at_least
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    from dp_cmdp.explorer.custody import Custody
    from dp_cmdp.explorer.sources import Source

PORT = 8733
LARGEST_PORT = 65535
PRICE_RADIUS = 0.1
#: What names each kind of real database, what may be said besides, and who pays.
KINDS = {
    "grid": ("layout", "hazards"),
    "auction": ("auction", "data"),
    "program": ("model", "private", "data"),
}
OPTIONAL = {"grid": ("tolerances",), "auction": ("price_radius",), "program": ()}
ACCOUNT = ("ledger", "identity")
ALL = {name for part in (*KINDS.values(), *OPTIONAL.values(), ACCOUNT) for name in part}

EPILOG = """examples:
  dp-cmdp explore
  dp-cmdp explore --port 0 --no-browser
  dp-cmdp explore --layout my.json --hazards mine.json --ledger ledger.sqlite --identity site-7
  dp-cmdp explore --layout my.json --hazards mine.csv --tolerances limits.csv \\
      --ledger ledger.sqlite --identity site-7
  dp-cmdp explore --model model.mps --private spec.toml --data values.csv \\
      --ledger ledger.sqlite --identity plant-3
  dp-cmdp explore --auction 10x5 --data prices.csv --ledger ledger.sqlite --identity auction-1

The page is for this machine alone: it listens on 127.0.0.1, answers to that name only, refuses what
other pages ask, and opens for who has the address that is printed at its start. Data that is
invented in the page spends nothing. A real database is named here, with a ledger that knows it; it
is read by a press of Release, after the debit, and never drawn."""


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "explore",
        help="a local page to design a private safe policy by looking",
        description="Draw a grid, invent hazards, move the budget, and see release, policies, "
        "certificate and price at once; or release a real database against its ledger.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--port", type=at_least(0), default=PORT, help=f"0: any that is free (default: {PORT})"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    parser.add_argument("--json", action="store_true", help="print the address as JSON")
    real = parser.add_argument_group("a real database (a grid, a program or an auction)")
    real.add_argument("--layout", metavar="NAME|FILE", help="the public layout of a grid")
    real.add_argument(
        "--hazards", type=Path, metavar="FILE", help="its private hazards, JSON or CSV"
    )
    real.add_argument(
        "--tolerances", type=Path, metavar="FILE", help="of hazards in CSV: kind,tolerance (CSV)"
    )
    real.add_argument("--model", type=Path, metavar="FILE", help="a public .mps or .lp program")
    real.add_argument("--private", type=Path, metavar="SPEC", help="what is private in it, TOML")
    real.add_argument(
        "--auction", type=_auction_size, metavar="GROUPSxADVERTISERS", help="an ad auction"
    )
    real.add_argument(
        "--price-radius",
        type=float,
        metavar="R",
        help=f"how far a price of the auction may move (default: {PRICE_RADIUS})",
    )
    real.add_argument(
        "--data",
        type=Path,
        metavar="FILE",
        help="private numbers of the program (CSV, MPS or LP), or of the auction: "
        "group,advertiser,price (CSV)",
    )
    real.add_argument("--ledger", type=Path, metavar="FILE", help="the privacy ledger that pays")
    real.add_argument("--identity", help="name of the database in the ledger")
    real.add_argument(
        "--out",
        type=Path,
        default=Path("out/explore"),
        metavar="DIR",
        help="each release is written here too (default: out/explore)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.port > LARGEST_PORT:
        raise InvalidArgumentError(f"--port must be at most {LARGEST_PORT}, got {options.port}")
    custody = _custody(options)
    require("nicegui")
    require("matplotlib")
    from dp_cmdp.explorer.page.app import serve

    serve(
        port=options.port,
        browser=not options.no_browser,
        custody=custody,
        say=_say_json if options.json else _say,
    )
    return 0


def _say(address: str) -> None:
    print(f"explorer  {address}\n          stop it with Ctrl+C", flush=True)


def _say_json(address: str) -> None:
    print(json.dumps({"address": address}), flush=True)


def _auction_size(text: str) -> tuple[int, int]:
    """Type of ``--auction``."""
    from dp_cmdp.explorer.program_design import MOST_ADVERTISERS, MOST_GROUPS

    found = re.fullmatch(r"(\d{1,3})x(\d{1,3})", text)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if not (1 <= size[0] <= MOST_GROUPS and 1 <= size[1] <= MOST_ADVERTISERS):
        raise argparse.ArgumentTypeError(
            f"must be GROUPSxADVERTISERS, such as 10x5, with at most {MOST_GROUPS} groups and "
            f"{MOST_ADVERTISERS} advertisers; got {text[:40]!r}"
        )
    return size


def _custody(options: argparse.Namespace) -> Custody | None:
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
    from dp_cmdp.cli.values import writable_folder
    from dp_cmdp.explorer.custody import Custody

    with writable_folder(options.out):
        return Custody(_source(kind, options), options.ledger, options.identity, options.out)


def _source(kind: str, options: argparse.Namespace) -> Source:
    from dp_cmdp.envs import as_layout
    from dp_cmdp.explorer.sources import AuctionSource, FileSource, GridSource

    if kind == "grid":
        return GridSource(as_layout(options.layout), options.hazards, options.tolerances)
    if kind == "auction":
        radius = PRICE_RADIUS if options.price_radius is None else options.price_radius
        groups, advertisers = options.auction
        return AuctionSource(groups, advertisers, radius, options.data)
    return FileSource(options.model, options.private, options.data)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
