"""The folder of an answer: paid releases stay, public files are replaced together, private apart.

Whatever looks at the truth goes to a folder ``curator_only`` that its owner alone may open; what is
printed about it is where it lies. Whether looking failed is private, too.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile, mkdtemp
from typing import Any

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.cli.problem import LAYOUT, PROBLEM, RELEASE

CURATOR_FOLDER = "curator_only"
CERTIFICATE, PICTURE, TABLE = "certificate.json", "answer.png", "solution.csv"
#: What commands write beside each other, all of it safe to publish.
FILES = (PROBLEM, RELEASE, "answer.npz", CERTIFICATE, PICTURE, TABLE, LAYOUT)
#: What a curator may have had written about the answer that is replaced.
CURATOR_FILES = ("comparison.json", "comparison.png", "evaluation.json", "rollout.json")


class AnswerFolder:
    """A folder of public files in which what a ledger paid for is never lost or written over."""

    def __init__(self, path: Path, given: Path | None) -> None:
        self.path, self._kept, own = path, False, path / RELEASE
        self._given = False
        if given is not None and given.is_file() and own.is_file():
            self._given = own.read_bytes() == given.read_bytes()
        self._refuse_paid()

    def keep(self, release: Any) -> None:
        """Write a release as soon as it is drawn, in place of all that is of another."""
        self._refuse_paid()  # another command may have put one there meanwhile
        self._clear()
        if not self._given:
            _write_release(release, self.path)
        self._kept = True

    def _clear(self) -> None:
        for name in (*FILES, *(f"{CURATOR_FOLDER}/{name}" for name in CURATOR_FILES)):
            if not (name == RELEASE and self._given):
                (self.path / name).unlink(missing_ok=True)
        with suppress(OSError):  # left empty, or not there
            (self.path / CURATOR_FOLDER).rmdir()

    def _refuse_paid(self) -> None:
        """Raise if a release lies there that a ledger paid for, or one that cannot be read."""
        from dp_cmdp import Release

        file = self.path / RELEASE
        if self._given or not file.is_file():
            return
        try:
            paid = Release.load(file).ledger_reference is not None
        except InvalidArgumentError:
            paid = True
        if paid:
            raise InvalidArgumentError(
                f"--out {self.path} holds a release that a ledger may have paid for ({RELEASE}), "
                "which is never written over: name another folder, or move it away. Nothing was "
                "spent"
            )

    def write(self, files: Callable[[Path], object]) -> None:
        """Put what `files` writes into the folder, beside the release that is kept there."""
        if not self._kept:
            self._clear()
        with TemporaryDirectory(dir=self.path, prefix=".") as staged:
            files(Path(staged))
            for path in sorted(Path(staged).iterdir()):
                if path.name != RELEASE:
                    path.replace(self.path / path.name)

    def rescue(self, error: BaseException) -> None:
        """Write the release that an exception carries, and say where it is."""
        release = getattr(error, "release", None)
        if not getattr(release, "outcomes", ()):
            return
        folder = self.path
        if not self._kept:
            if (folder / RELEASE).exists():
                folder = Path(mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
            _write_release(release, folder)
        print(f"dp-cmdp: note: what was released is not lost: {folder / RELEASE}", file=sys.stderr)


@contextmanager
def writable_folder(path: Path, *files: str) -> Iterator[Path]:
    """The folder, made and tried before any work; what stayed empty of it goes when that fails.

    `files` are the names to be written into it later; a folder of such a name is refused now.
    """
    made = [part for part in (path, *path.parents) if not part.exists()]
    try:
        try:
            path.mkdir(parents=True, exist_ok=True)
            TemporaryFile(dir=path).close()
        except OSError as error:
            raise InvalidArgumentError(
                f"--out must name a folder that can be written; {path} cannot "
                f"({error.strerror or type(error).__name__})"
            ) from None
        for name in files:
            if (path / name).is_dir():
                raise InvalidArgumentError(
                    f"--out {path} has a folder called {name}, where a file of that name is to be "
                    "written; move it away or name another folder"
                )
        yield path
    except BaseException:
        with suppress(OSError):
            for part in made:
                part.rmdir()
        raise


@contextmanager
def answer_folder(path: Path, *, given: Path | None = None) -> Iterator[AnswerFolder]:
    """The folder, tried before any work; it may hold the release that is `given` to the command."""
    with writable_folder(path, *FILES):
        if (path / CURATOR_FOLDER).exists() or (path / CURATOR_FOLDER).is_symlink():
            curator_folder(path)
        folder = AnswerFolder(path, given)
        try:
            yield folder
        except BaseException as error:
            folder.rescue(error)
            raise


def _write_release(release: Any, folder: Path) -> None:
    with TemporaryDirectory() as place:
        content = release.save(Path(place) / RELEASE).read_bytes()
    with (folder / RELEASE).open("xb") as stream:  # and not where there is one
        stream.write(content)


def curator_folder(folder: Path) -> Path:
    """The folder ``curator_only`` inside `folder`, made if need be, open to its owner alone."""
    inner = folder / CURATOR_FOLDER
    try:
        inner.mkdir(mode=0o700, parents=True, exist_ok=True)
        if inner.is_symlink():
            raise InvalidArgumentError(f"{inner} must be a folder, not a link; remove it")
        inner.chmod(0o700)
    except OSError as error:
        raise InvalidArgumentError(
            f"{inner} must be a folder that its owner alone may open; it cannot be made so "
            f"({error.strerror or type(error).__name__})"
        ) from None
    return inner


def write_private(folder: Path, name: str, compute: Callable[[Path], Mapping[str, Any]]) -> Path:
    """Write what `compute` finds in the truth, or why that failed, where its curator alone reads.

    Whether it fails, and what it warns of, depends on the truth: nothing is raised or printed.
    """
    from dp_cmdp._src.base.storage import write_bytes

    inner = curator_folder(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            content = compute(inner)
        except Exception as error:
            content = {"failed": f"{type(error).__name__}: {error}"}
    return write_bytes(inner / name, _encoded(content), private=True)


def _encoded(content: Any) -> bytes:
    text = json.dumps(finite(content), indent=2, ensure_ascii=False)
    return f"{text}\n".encode(errors="replace")


def finite(content: Any) -> Any:
    """The same for JSON, which has neither infinity nor NaN."""
    if isinstance(content, Mapping):
        return {name: finite(part) for name, part in content.items()}
    if isinstance(content, list | tuple):
        return [finite(part) for part in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def write_json(path: Path, content: Mapping[str, Any]) -> Path:
    """Public content as JSON, atomically."""
    from dp_cmdp._src.base.storage import write_bytes

    return write_bytes(path, _encoded(content))
