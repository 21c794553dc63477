"""Results that look at the truth, marked so that no public artefact takes them.

Whoever holds the true database may compare an answer with it; the comparison itself is private.
Such numbers are :class:`CuratorOnly`, and the writers of public files refuse them. Files of such
results lie in one place, a folder ``curator_only`` that its owner alone may open.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp._storage import write_bytes, write_text
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError

#: The one place for files that look at the truth, inside the folder of the public ones.
CURATOR_FOLDER = "curator_only"

#: Containers within containers beyond this are not looked into, and not written.
DEEPEST = 100


class CuratorOnly(float):
    """A number computed from true data: public files refuse it.

    It computes like a float, and what operators and numpy's functions make of it stays marked:
    arrays so computed hold marked numbers (``dtype=object``). ``float(number)`` takes the mark
    off, which is for simulations on invented data. So do comparisons, ``int``, text, the ``math``
    module, and conversion to an array of floats: Python offers no way to keep it there.

    Examples
    --------
    >>> from dp_cmdp import cost_of_privacy
    >>> lost = cost_of_privacy(20.0, 19.0)
    >>> 2 * lost  # what is computed from it stays marked
    0.1 (curator only)
    >>> float(lost)  # on invented data: takes the mark off
    0.05
    """

    __slots__ = ()

    #: Ahead of numpy's own scalars and arrays, so that they leave arithmetic to this class.
    __array_priority__ = 1000.0

    def __new__(cls, number: float, /) -> Self:
        """Infinities and NaN are results too; texts are not numbers."""
        if isinstance(number, float | np.floating) and not np.isfinite(number):
            return super().__new__(cls, number)
        return super().__new__(cls, _check.real("number", number))

    def __repr__(self) -> str:
        return f"{float(self)!r} (curator only)"

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [float(x) if isinstance(x, CuratorOnly) else x for x in inputs]
        return marked(getattr(ufunc, method)(*plain, **options))


def marked(result: Any) -> Any:
    """`result` with every number in it marked; answers to yes-or-no questions stay as they are."""
    if isinstance(result, tuple):
        return tuple(marked(part) for part in result)
    if isinstance(result, np.ndarray) and result.dtype.kind in "iuf":
        plain = _check.array("result", result)
        table = np.empty(plain.shape, dtype=object)
        table.ravel()[:] = [CuratorOnly(number) for number in plain.ravel().tolist()]
        return table
    return CuratorOnly(_check.real("result", result)) if _check.is_real(result) else result


def _marking(name: str) -> Callable[..., Any]:
    plain = getattr(float, name)

    def operation(self: CuratorOnly, *others: Any) -> Any:
        if any(isinstance(other, np.ndarray) for other in others):
            return NotImplemented
        return marked(plain(self, *others))

    operation.__name__ = name
    return operation


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow"):
    for _side in ("", "r"):
        setattr(CuratorOnly, f"__{_side}{_name}__", _marking(f"__{_side}{_name}__"))
for _name in ("neg", "pos", "abs", "round", "floor", "ceil", "trunc"):
    setattr(CuratorOnly, f"__{_name}__", _marking(f"__{_name}__"))


@door
def refuse_curator_values(content: Any, *, where: str = "content") -> None:
    """Raise :class:`PrivacyLeakError` if a curator-only number is anywhere inside `content`."""
    _refuse(content, where, depth=0)


def _refuse(content: Any, where: str, *, depth: int) -> None:
    if depth > DEEPEST:
        raise InvalidArgumentError(f"content must not be nested more than {DEEPEST} deep")
    if isinstance(content, CuratorOnly):
        raise PrivacyLeakError(f"{where} is a curator-only result and must not be published")
    if is_dataclass(content) and not isinstance(content, type):
        content = {field.name: getattr(content, field.name) for field in fields(content)}
    if _check.is_mapping(content):
        for key, value in content.items():
            if key == "curator_only":
                raise PrivacyLeakError(f"{where} has a curator_only part; leave it out")
            _refuse(key, f"a key of {where}", depth=depth + 1)
            _refuse(value, f"{where}.{key}", depth=depth + 1)
    elif isinstance(content, np.ndarray) and content.dtype == object:
        _refuse(content.ravel().tolist(), where, depth=depth + 1)
    elif isinstance(content, list | tuple | set | frozenset):
        for number, value in enumerate(content):
            _refuse(value, f"{where}[{number}]", depth=depth + 1)


@door
def write_public_json(path: str | Path, content: Mapping[str, Any]) -> Path:
    """Write public facts as JSON, atomically; curator-only results are refused.

    Examples
    --------
    >>> from dp_cmdp.data.curator import CuratorOnly, write_public_json
    >>> print(write_public_json("facts.json", {"epsilon": 1}).read_text(), end="")
    {
      "epsilon": 1
    }
    >>> write_public_json("facts.json", {"loss": CuratorOnly(1.5)})
    Traceback (most recent call last):
        ...
    dp_cmdp.errors.PrivacyLeakError: content.loss is a curator-only result and must ...
    """
    refuse_curator_values(content)
    try:
        text = json.dumps(content, indent=2, ensure_ascii=False)
    except (TypeError, ValueError):
        text = None
    if text is None or not _check.is_text(text):
        raise InvalidArgumentError("content must hold texts, numbers, lists and mappings only")
    return write_text(path, text + "\n")


@door
def curator_folder(folder: str | Path) -> Path:
    """The folder ``curator_only`` inside `folder`, made if need be, open to its owner alone."""
    inner = _check.path("folder", folder) / CURATOR_FOLDER
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


@door
def report_to_curator(
    folder: str | Path, name: str, look: Callable[[Path], Mapping[str, Any]]
) -> Path:
    """Write what looks at the truth, or why that failed, where its curator alone reads.

    Parameters
    ----------
    folder : path
        Of the public files; the report goes into its ``curator_only``.
    name : str
        Of the JSON file (mode 600).
    look : callable
        Given the curator's folder, returns the facts. It may write more private files there.

    Notes
    -----
    Whether `look` fails, and what it warns of, depends on the truth: an exception becomes the fact
    ``failed``, warnings are dropped, and nothing is raised. **Privacy.** *Curator only*.

    Examples
    --------
    >>> import json
    >>> from dp_cmdp.data.curator import report_to_curator
    >>> path = report_to_curator("out", "loss.json", lambda folder: {"loss_percent": 1.5})
    >>> path.parent.name, json.loads(path.read_text())
    ('curator_only', {'loss_percent': 1.5})
    >>> path = report_to_curator("out", "loss.json", lambda folder: {"loss_percent": 1 / 0})
    >>> json.loads(path.read_text())  # that it failed is private, too
    {'failed': 'ZeroDivisionError: division by zero'}
    """
    _check_file_name(name)
    inner = curator_folder(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            content = _encoded(look(inner))
        except Exception as error:
            content = _encoded({"failed": f"{type(error).__name__}: {_check.text_of(error)}"})
    return write_bytes(inner / name, content, private=True)


def _check_file_name(name: str) -> None:
    if _check.path("name", name).name != name:
        raise InvalidArgumentError("name must be that of a file, without folders")


def _encoded(facts: Mapping[str, Any]) -> bytes:
    return (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode(errors="replace")
