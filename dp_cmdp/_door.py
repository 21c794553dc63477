"""Arguments are of the kind their annotation says, or are refused before the body runs.

``@door`` stands at public callables: whatever is wrong with the *kind* of an argument (a text where
a flag is meant, an array for a number, another object than the one named) is said first, in one
way, so that nothing is read or spent for a call that cannot be answered. Bounds, shapes and what
one argument says about another are left to the body (:mod:`dp_cmdp._check`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import wraps
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast, get_origin

import numpy as np

from dp_cmdp import _check
from dp_cmdp.errors import InvalidArgumentError

P = ParamSpec("P")
R = TypeVar("R")
Accepts = Callable[[Any], bool]


def door(function: Callable[P, R]) -> Callable[P, R]:
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
        if p.annotation is not p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }
    order = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    rules: dict[str, list[Accepts]] = {}  # made at the first call, when all names are known

    @wraps(function)
    def checked(*given: P.args, **named: P.kwargs) -> R:
        if not rules:
            for name, annotation in annotations.items():
                rules[name] = [_accepts(kind, function.__globals__) for kind in _kinds(annotation)]
        for name, value in (*zip(order, given, strict=False), *named.items()):
            if name in rules and not any(accepts(value) for accepts in rules[name]):
                raise _refusal(name, value, _kinds(annotations[name]))
        return function(*given, **named)

    return cast(Callable[P, R], checked)


def _kinds(annotation: str) -> list[str]:
    """The kinds of a union: split at each | outside of brackets."""
    kinds, depth = [""], 0
    for sign in annotation:
        depth += (sign == "[") - (sign == "]")
        if sign == "|" and depth == 0:
            kinds.append("")
        else:
            kinds[-1] += sign
    return [kind.strip() for kind in kinds]


def _accepts(kind: str, scope: Mapping[str, Any]) -> Accepts:
    outer = kind.split("[")[0]
    if outer in KINDS:
        return KINDS[outer][1]
    try:
        found = eval(outer, dict(scope))  # the text of an annotation in this package's own source
    except (NameError, AttributeError):
        name = outer.split(".")[-1]
        return lambda value: any(base.__name__ == name for base in type(value).__mro__)
    origin = get_origin(found) or found
    if origin in COLLECTIONS:
        return COLLECTIONS[origin]
    return lambda value: not isinstance(origin, type) or isinstance(value, origin)


def _refusal(name: str, value: Any, kinds: list[str]) -> InvalidArgumentError:
    words = [KINDS[kind][0] if kind in KINDS else kind.split("[")[0] for kind in kinds]
    reason = _check.why_no_array(value) if "ArrayLike" in kinds else None
    found = type(value).__name__
    if isinstance(value, float | np.floating) and "float" in kinds:
        found = f"{float(value)}"
    return InvalidArgumentError(f"{name} must be {' or '.join(words)}; {reason or f'got {found}'}")


def _is_finite(value: Any) -> bool:
    try:
        return _check.is_real(value) and isfinite(float(value))
    except Exception:
        return False


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _is_iterable(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _anything(value: Any) -> bool:
    return True


#: Kinds by the name they have in annotations: their words, and the test.
KINDS: dict[str, tuple[str, Accepts]] = {
    "Any": ("anything", _anything),
    "ArrayLike": ("an array of real numbers", lambda value: _check.why_no_array(value) is None),
    "Number": ("a number", lambda value: _check.is_real(value) or isinstance(value, str | Decimal)),
    "None": ("None", lambda value: value is None),
    "Path": ("a path", lambda value: isinstance(value, Path)),
    "PathLike": ("a path", lambda value: isinstance(value, PathLike)),
    "bool": ("True or False", lambda value: isinstance(value, bool)),
    "float": ("a finite real number", _is_finite),
    "int": ("an integer", _check.is_integer),
    "str": ("a text", _check.is_text),
}
#: Kinds of collection, by what an annotation's outer name stands for.
COLLECTIONS: dict[Any, Accepts] = {
    Callable: callable,
    Iterable: _is_iterable,
    Sequence: _is_sequence,
    tuple: lambda value: isinstance(value, tuple | list),
}
