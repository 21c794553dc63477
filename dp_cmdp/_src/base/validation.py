"""Arguments are of the kind their annotation says, or are refused before the body runs.

``@validated`` stands at public callables: whatever is wrong with the *kind* of an argument (a text where
a flag is meant, an array for a number, another object than the one named) is said first, in one
way, so that nothing is read or spent for a call that cannot be answered. Bounds, shapes and what
one argument says about another are left to the body (:mod:`dp_cmdp._src.base.check`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, wraps
from itertools import chain, cycle
from math import isfinite
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast, get_origin

from dp_cmdp._src.base import scalars as _scalars
from dp_cmdp._src.base.check import *  # noqa: F403
from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Kind:
    """What an argument may be: in words, and as a test."""

    word: str
    accepts: Callable[[Any], bool]


def validated(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, with the kind of every argument checked against its annotation.

    An annotation is a union of kinds: those of :data:`KINDS` (``float`` is a finite real number
    and ``int`` an integer, of Python or numpy, and neither is a truth value), of
    :data:`COLLECTIONS`, and classes. Names that are imported for type checkers only are compared
    with the names of an argument's class and of its bases.
    """
    parameters = inspect.signature(function).parameters.values()
    annotations = {
        p.name: str(p.annotation)
        for p in parameters
        if p.annotation is not p.empty and p.kind is not p.VAR_KEYWORD
    }
    order = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    more = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]

    @cache
    def rules() -> dict[str, list[Kind]]:  # read at the first call, when all names are known
        scope = inspect.unwrap(function).__globals__
        return {n: [_kind(text, scope) for text in _texts(a)] for n, a in annotations.items()}

    @wraps(function)
    def checked(*given: P.args, **named: P.kwargs) -> R:
        kinds = rules()
        names = chain(order, cycle(more)) if more else order
        for name, value in (*zip(names, given, strict=False), *named.items()):
            for kind in kinds.get(name, ()):
                if kind.accepts(value):
                    break
            else:
                if name in kinds:
                    raise _refusal(name, value, kinds[name])
        return function(*given, **named)

    return cast(Callable[P, R], checked)


def _texts(annotation: str) -> list[str]:
    """The kinds of a union: split at each | outside of brackets."""
    texts, depth = [""], 0
    for sign in annotation:
        depth += (sign == "[") - (sign == "]")
        if sign == "|" and depth == 0:
            texts.append("")
        else:
            texts[-1] += sign
    return [text.split("[")[0].strip() for text in texts]


def _kind(text: str, scope: Mapping[str, Any]) -> Kind:
    if text in KINDS:
        return KINDS[text]
    name = text.split(".")[-1]
    word = f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
    try:
        found = eval(text, dict(scope))  # an annotation in this package's own source
    except (NameError, AttributeError):
        return Kind(word, lambda value: any(t.__name__ == name for t in type(value).__mro__))
    origin = get_origin(found) or found
    if origin in COLLECTIONS:
        return COLLECTIONS[origin]
    if getattr(origin, "__name__", None) == "ndarray":
        return Kind("a numpy array of numbers", _is_array)
    return Kind(word, lambda value: not isinstance(origin, type) or isinstance(value, origin))


def _refusal(name: str, value: Any, kinds: list[Kind]) -> InvalidTypeError:
    wanted = " or ".join(dict.fromkeys(kind.word for kind in kinds))
    found = type(value).__name__
    if isinstance(value, float) and NUMBER in kinds:
        found = str(float(value))
    reason = _why_no_array(value) if ARRAY in kinds else None
    return InvalidTypeError(f"{name} must be {wanted}; {reason or f'got {found}'}")


def _is_finite(value: Any) -> bool:
    try:
        return _scalars.is_real(value) and isfinite(float(value))
    except Exception:
        return False


def _why_no_array(value: Any) -> str | None:
    from dp_cmdp._src.base.check import why_no_array  # the ledger's doors work without numpy

    return why_no_array(value)


def _is_array(value: Any) -> bool:
    from dp_cmdp._src.base.check import REAL_KINDS

    is_array = any(base.__name__ == "ndarray" for base in type(value).__mro__)
    return is_array and _why_no_array(value) is None and value.dtype.kind in REAL_KINDS


def _is_path(value: Any) -> bool:
    try:
        return isinstance(value, PathLike) and isinstance(fspath(value), str)
    except Exception:
        return False


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _is_iterable(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


NUMBER = Kind("a finite real number", _is_finite)
ARRAY = Kind("an array of real numbers", lambda value: _why_no_array(value) is None)
#: Kinds by the name they have in annotations.
KINDS = {
    "Any": Kind("anything", lambda value: True),
    "ArrayLike": ARRAY,
    "None": Kind("None", lambda value: value is None),
    "Number": Kind("a number", lambda x: _scalars.is_real(x) or isinstance(x, str | Decimal)),
    "Path": Kind("a path", lambda value: isinstance(value, Path)),
    "PathLike": Kind("a path", _is_path),
    "bool": Kind("True or False", lambda value: isinstance(value, bool)),
    "float": NUMBER,
    "int": Kind("an integer", _scalars.is_integer),
    "np.random.Generator": Kind(
        "a numpy.random.Generator (for example numpy.random.default_rng(0))",
        lambda value: any(base.__name__ == "Generator" for base in type(value).__mro__),
    ),
    "str": Kind("a text", _scalars.is_text),
}
#: Kinds of collection, by what the outer name of an annotation stands for.
COLLECTIONS: dict[Any, Kind] = {
    Callable: Kind("a function", callable),
    Iterable: Kind("a sequence", _is_iterable),
    Mapping: Kind("a mapping", _scalars.is_mapping),
    Sequence: Kind("a sequence", _is_sequence),
    dict: Kind("a mapping", _scalars.is_mapping),
    tuple: Kind("a tuple", lambda value: isinstance(value, tuple | list)),
}
