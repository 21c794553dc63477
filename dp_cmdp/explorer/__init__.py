"""The explorer: a local page where a private safe policy is designed by looking.

It uses the public face only. What is behind the page (designs, answers, maps, words, code) needs no
framework and is in this folder; the page itself, on NiceGUI, is in ``page``. :func:`run` starts it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

#: The port where the page is looked for first.
PORT = 8733


def run(
    *,
    port: int = PORT,
    browser: bool = True,
    say: Callable[[str], None] = print,
    out: str | Path = "out/explore",
    **named: Any,
) -> None:
    """Serve the page until it is interrupted.

    Parameters
    ----------
    port : int
        0: any that is free.
    browser : bool
        Open the page in the browser.
    say : callable
        Gets the address once the page listens.
    out : str or Path
        Each release of a real database gets a folder of its own here.
    **named
        A real database, named wholly or not at all; None is not given. `ledger` and `account` pay
        for it; it is a grid (`layout`, `hazards`, and `limits` where the hazards are a CSV table),
        a program (`model`, `private`, `data`) or an auction (`auction`, such as ``"10x5"``, `data`
        and perhaps `price_radius`).

    Raises
    ------
    InvalidArgumentError
        A port or a database cannot be used; nothing was read or spent.
    MissingExtraError
        NiceGUI or matplotlib is not installed.

    Notes
    -----
    **Privacy.** *Spends the budget* of the account, by presses of *Release* in the page, and
    nothing else; what the page shows of a database was released.
    """
    import dp_cmdp as dp

    for package, extra in (("nicegui", "explorer"), ("matplotlib", "figures")):
        if find_spec(package) is None:
            raise dp.errors.MissingExtraError(
                f"{package} is needed here: in a clone of the project, pip install '.[{extra}]'"
            )
    from dp_cmdp.explorer.sources import named_database

    database = named_database(named, Path(out))
    from dp_cmdp.explorer.page.app import serve

    serve(port=port, browser=browser, database=database, say=say)
