"""What the curator may ask of the true data, unpaid: nothing of it may be published."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dp_cmdp._src.base.errors import InvalidArgumentError, InvalidTypeError, RefusedError
from dp_cmdp._src.base.extras import lazily
from dp_cmdp._src.base.html import values_table
from dp_cmdp._src.base.validation import is_mapping, is_table, listed, validated
from dp_cmdp._src.checking.report import Finding, Report
from dp_cmdp._src.data.database import _by_group, _flat, private_group
from dp_cmdp._src.data.envelope import Envelope, Group, UncertaintySet
from dp_cmdp._src.data.labels import flat_index, label_at, level_names, plain
from dp_cmdp._src.data.private_tables import by_labels, read_table
from dp_cmdp._src.program.answer import Answer
from dp_cmdp._src.verbs.arguments import Data, Problem, as_problem, database_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Comparison:
    """An answer against the best one for the true data: curator only, not private.

    Attributes
    ----------
    loss : float
        The share of |best| that the answer stays below the best (above, where the problem
        minimises).
    violated : int
        True constraints that the answer breaks; 0 for every answer of this package.
    value, best, robust : float
        What the answer, the best one and the robust one are worth at the true data.

    Notes
    -----
    **Privacy.** *Curator only*.
    """

    loss: float
    violated: int
    value: float
    best: float
    robust: float
    _found: Any = field(default=None, repr=False, compare=False)
    _best: Any = field(default=None, repr=False, compare=False)

    def plot(self) -> Any:
        """The answer beside the robust and the best one, with the true data: curator only.

        Returns
        -------
        matplotlib.figure.Figure
            ``dp_cmdp.figures.save_figure`` writes it for the owner of the file only.

        Raises
        ------
        InvalidArgumentError
            If the comparison was pickled or copied, which keeps its numbers alone.
        """
        if self._found is None:
            raise InvalidArgumentError(
                "a comparison that was pickled or copied holds its numbers alone; compare again"
            )
        return lazily("dp_cmdp._src.figures.answer", "comparison_figure")(self)

    def __getstate__(self) -> dict[str, Any]:
        """Pickles hold the numbers alone; the answers stay in their process."""
        return {**self.__dict__, "_found": None, "_best": None}

    def _repr_html_(self) -> str:
        shown = [("loss", self.loss), ("violated", self.violated), ("value", self.value)]
        shown += [("best", self.best), ("robust", self.robust)]
        return values_table("Comparison (curator only)", shown)


@validated
def compare(found: Answer[Any], data: Data) -> Comparison:
    """Compare an answer with the best one for the true data.

    Parameters
    ----------
    found : Answer
        The answer.
    data : array_like, mapping from group to numbers, table, path of a csv file or Database
        The true numbers, which are read.

    Returns
    -------
    Comparison
        Loss and number of violated constraints.

    Raises
    ------
    RefusedError
        The values cannot be used.
    InvalidTypeError
        `found` is no answer.

    Notes
    -----
    **Privacy.** *Curator only*: it reads the true data without spending. Do not publish it.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> theta = dp.Envelope([0.5, 0.5, 8], [2, 2, 12], radius=[0.1, 0.1, 0.5])
    >>> lp = dp.ParametricLP(maximize=[3, 2], A=[[theta[0], theta[1]]], b=[theta[2]])
    >>> against = dp.curator.compare(dp.answer(lp), [1, 1.2, 10])
    >>> round(against.loss, 3), against.violated
    (0.6, 0)
    """
    if found.problem is None:
        raise InvalidTypeError("found must be an answer with its problem; this one has none")
    asked = as_problem(found.problem)
    truth = database_of(data, asked.envelope).read()
    exactly = UncertaintySet.box(truth, truth)
    optimal = asked.answer(exactly, truth, certify=False)
    best = asked.value(optimal.decision, truth)
    value = asked.value(found.decision, truth)
    return Comparison(
        loss=relative_loss(best, value),
        violated=int((asked.certify(found.decision, exactly).slack < 0.0).sum()),
        value=value,
        best=best,
        robust=asked.value(found.robust.decision, truth),
        _found=found,
        _best=optimal,
    )


def relative_loss(best: float, value: float) -> float:
    """|best − value| in units of |best|; 0 where they agree, nan where there is no unit."""
    if best == value:
        return 0.0
    return abs(best - value) / abs(best) if best else float("nan")


@validated
def check(values: Data, problem: Problem | Envelope) -> Report:
    """Check before a budget is spent whether private values fit, and name those that do not.

    Parameters
    ----------
    values : array_like, mapping from group to numbers, table, path of a csv file or Database
        The true numbers, which are read.
    problem : ParametricLP, ParametricCMDP, cvxpy.Problem, extend.Problem or Envelope
        The problem whose bounds and labels they must fit.

    Returns
    -------
    Report
        True if the values fit; otherwise it says what is wrong with which of them.

    Notes
    -----
    Functions that spend read the values after the debit only, and their errors give no details.

    **Privacy.** *Curator only*: what it says depends on the values. Do not publish it.

    Examples
    --------
    >>> import dp_cmdp as dp
    >>> bool(dp.curator.check([3, 4], dp.Envelope(0, 9, radius=1, shape=2)))
    True
    >>> bool(dp.curator.check([3, 40], dp.Envelope(0, 9, radius=1, shape=2)))
    False
    """
    envelope = as_problem(problem).envelope
    findings = [
        Finding("private values (curator only: do not publish)", claim, not why, why)
        for claim, why in _claims(values, envelope)
    ]
    return Report(tuple(findings))


def _claims(values: Any, envelope: Envelope) -> list[tuple[str, str]]:
    """What must hold of values, and what does not."""
    database = database_of(values, envelope, "values")
    try:
        database.read()
    except RefusedError:
        pass
    else:
        return [("the values can be used", "")]
    fits, found = "one finite number per entry, by group and label", None
    try:
        source: Any = database._source
        called = callable(source) and not is_table(source)
        given = source() if called else source
        given = read_table(given, envelope.groups) if isinstance(given, str | Path) else given
        found = _flat(given, envelope)
        if found is None:
            return [(fits, _misfits(given, envelope))]
    except Exception as error:
        return [(fits, f"{type(error).__name__}: {error}")]
    away = np.flatnonzero(~((found >= envelope.lower) & (found <= envelope.upper)))
    shown = [
        f"{_entry(envelope, k)}: {found[k]:g} outside [{envelope.lower[k]:g}, "
        f"{envelope.upper[k]:g}]"
        for k in away.tolist()
    ]
    within = "every value lies within its public bounds"
    return [(fits, ""), (within, listed(shown, between="; "))]


def _entry(envelope: Envelope, entry: int) -> str:
    """An entry by its number, and by its group and label where it has them."""
    group = next(each for each in envelope.groups if entry < each.stop)
    label = label_at(group.labels, entry - group.start) if group.labels else ""
    place = f"{group.name} {label}".strip() if len(envelope.groups) > 1 else label
    return f"entry {entry} ({place})" if place else f"entry {entry}"


def _misfits(given: Any, envelope: Envelope) -> str:
    """What is wanted of values that do not fit, and what they have instead, group by group."""
    groups = envelope.groups
    parts = _by_group(given, envelope) if is_mapping(given) else [given] * (len(groups) == 1)
    if not parts:
        wanted = ", ".join(f"{group.name} ({group.size})" for group in groups)
        return f"wanted are numbers by group, each once: {wanted}"
    pairs = zip(parts, groups, strict=True)
    found = [(group, _misfit(part, group)) for part, group in pairs]
    return "; ".join(f"{group.name}: {why}" for group, why in found if why)


def _misfit(part: Any, group: Group) -> str:
    """What is wrong with the values of one group; empty if they fit."""
    if private_group(part, group) is not None:
        return ""
    if not (is_table(part) and group.labels):
        return f"wanted are numbers of shape {group.shape}, got shape {np.shape(part)}"
    names = level_names(group.labels)
    table = by_labels(part, names)
    wide = len(group.labels) == table.ndim == 2 and table.index.nlevels == 1
    axes = group.labels if wide else (flat_index(group.labels),)
    pairs = zip(axes, table.axes, strict=False)
    differ = [words for own, other in pairs for words in _differences(own, other)]
    by = f" ({', '.join(filter(None, names))})" if any(names) else ""
    return f"wanted is one number per label{by}; " + (
        ", ".join(differ) or "labels or columns of another kind, name or order"
    )


def _differences(wanted: pd.Index, found: pd.Index) -> list[str]:
    """Labels that are missing, not wanted, or there twice."""
    own, other = (list(map(plain, each.tolist())) for each in (wanted, found))
    kinds = {
        "missing": [label for label in own if label not in other],
        "not wanted": [label for label in other if label not in own],
        "twice": [label for label in dict.fromkeys(other) if other.count(label) > 1],
    }
    return [
        f"{what}: {listed(map(repr, labels), between='; ')}"
        for what, labels in kinds.items()
        if labels
    ]
