"""Options of commands that spend a budget: what is released, with which noise, on which account."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from dp_cmdp.cli.values import at_least
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    from dp_cmdp._check import FloatArray
    from dp_cmdp.data.release import Release

#: What a release is called in the folder of an answer.
RELEASE = "release.npz"
PLANS = ("auto", "database", "totals")
NOISES = ("tight", "optimal")


def add_spending_options(parser: argparse.ArgumentParser) -> None:
    """``--plan``, ``--guess``, ``--noise``, ``--seed``, and whose ledger is debited."""
    parser.add_argument(
        "--plan",
        choices=PLANS,
        help="what a database release says: intervals (database), totals besides, or what promises "
        "to lose least (auto, the default)",
    )
    parser.add_argument(
        "--guess",
        type=Path,
        metavar="FILE",
        help="a PUBLIC guess of the private numbers, in a file like theirs: plans are tried around "
        "it, and it may be published with the release",
    )
    parser.add_argument(
        "--noise",
        choices=NOISES,
        help="tight: both ends equally close; optimal: one end close, for one-entry records. "
        "Default: optimal where the objective is public and records hold one entry",
    )
    parser.add_argument("--seed", type=at_least(0), help="simulate with float noise (not secure)")
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="debit this privacy ledger")
    parser.add_argument("--identity", help="name of the database in the ledger")
    parser.add_argument("--unit", help="whom a record is; refused where the ledger says otherwise")


def check_guess(options: argparse.Namespace, *, private: object) -> None:
    """Raise where a guess would not be used, or is the file of the private numbers itself."""
    if options.guess is None:
        return
    if options.plan == "database":
        raise InvalidArgumentError("--guess serves --plan auto and totals: leave it out")
    if not options.guess.is_file():
        raise InvalidArgumentError(f"--guess must be a file; there is none at {options.guess}")
    if isinstance(private, Path) and private.is_file() and options.guess.samefile(private):
        raise InvalidArgumentError(
            "--guess must be public, and may be published; this is the file of the private numbers"
        )


def read_guess(
    options: argparse.Namespace, read: Callable[[Path], FloatArray]
) -> FloatArray | None:
    """The public guess that ``--guess`` names, entry by entry."""
    if options.guess is None:
        return None
    try:
        return read(options.guess)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"--guess: {error}") from None


def check_account(options: argparse.Namespace) -> None:
    """Raise unless ledger and identity come together."""
    if options.ledger is not None and not options.identity:
        raise InvalidArgumentError("--identity must name the database when --ledger is given")
    if options.identity is not None and options.ledger is None:
        raise InvalidArgumentError("--identity needs --ledger: without one nothing is debited")
    if options.unit is not None and options.ledger is None:
        raise InvalidArgumentError("--unit needs --ledger: it is the ledger's that is compared")


class PaidRelease:
    """The folder of an answer, in which what a ledger paid for is never lost or written over.

    Parameters
    ----------
    folder : Path
    files : sequence of str
        What an earlier run may have left there.

    Raises
    ------
    InvalidArgumentError
        If a release lies there that a ledger paid for: before anything is spent.
    """

    def __init__(self, folder: Path, files: Sequence[str]) -> None:
        self._folder, self._files = folder, files
        self._kept = False
        _refuse_paid(folder)

    def keep(self, release: Release) -> None:
        """Write a release that was paid for, before it is answered from."""
        from dp_cmdp._storage import replaced_files

        if release.ledger is None:
            return
        _refuse_paid(self._folder)  # another command may have put one there meanwhile
        with replaced_files(self._folder, self._files):
            pass  # what belongs to another release goes
        self._write(release, self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        from dp_cmdp._storage import fresh_folder
        from dp_cmdp.release.paid import carried

        release = None if error is None else carried(error)
        if release is None or release.ledger is None:
            return
        folder = self._folder
        if not self._kept:
            folder = folder if not (folder / RELEASE).exists() else fresh_folder(folder)
            self._write(release, folder)
        print(
            f"dp-cmdp: note: the release that was paid for is not lost: {folder / RELEASE}",
            file=sys.stderr,
        )

    def _write(self, release: Release, folder: Path) -> None:
        with tempfile.TemporaryDirectory() as place:
            content = release.save(Path(place) / RELEASE).read_bytes()
        with (folder / RELEASE).open("xb") as stream:  # and not where there is one
            stream.write(content)
        self._kept = True


def _refuse_paid(folder: Path) -> None:
    """Raise if a release lies in the folder that a ledger paid for, or one that cannot be read."""
    from dp_cmdp.data.release import Release

    path = folder / RELEASE
    if not path.is_file():
        return
    try:
        paid = Release.load(path).ledger is not None
    except InvalidArgumentError:
        paid = True
    if paid:
        raise InvalidArgumentError(
            f"--out {folder} holds a release that a ledger may have paid for ({RELEASE}), which is "
            "never written over: name another folder, or move it away. Nothing was spent"
        )
