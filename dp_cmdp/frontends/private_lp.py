"""A file's linear program with private numbers: public structure, and the database.

Two ways to hand over the private numbers:

* **in a file of their own** (``public_model=True``): the model is public, its numbers at the
  private places are nominal, and public bounds may be relative to them. The private numbers come
  from a CSV file or from a second model file of the same structure.
* **in the model file itself**: then its numbers at the private places are private, and nothing
  public may follow from them. Bounds must be absolute. Which coefficients are non-zero must be
  said, or named as public. Where a file states two sides by one number (ranges, fixed columns),
  both sides are private or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp._storage import check_is_file
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.data.envelope import Envelope
from dp_cmdp.errors import AssumptionError, InvalidArgumentError
from dp_cmdp.frontends.lp_file import ENDINGS, LpModel, read_lp
from dp_cmdp.frontends.lp_places import Group, groups_of, place
from dp_cmdp.frontends.lp_repairs import in_file_words
from dp_cmdp.frontends.lp_rows import private_rows
from dp_cmdp.frontends.lp_sides import check_crossed, check_sides
from dp_cmdp.frontends.lp_spec import PrivateBlock
from dp_cmdp.frontends.lp_values import blanked, check_bounds, own_numbers, read_csv, read_values
from dp_cmdp.program.parametric import ParametricLP


@dataclass(frozen=True, slots=True, eq=False)
class PrivateLp:
    """A linear program of a file, some of whose numbers are private.

    Attributes
    ----------
    program : ParametricLP
        Maximises; its columns are those of the file, in the file's order.
    groups : tuple of Group
        Where the entries of the database stand, group by group.
    model : LpModel
        The public part of the file: at private places stand 0 and, for sides and bounds, an end
        of their public bounds.
    public_rows : tuple of str
        Names of the rows of ``program.A_ub``.

    Notes
    -----
    **Privacy.** *Public*: it holds no private number.

    Examples
    --------
    >>> from pathlib import Path
    >>> from dp_cmdp.frontends.lp_file import read_lp
    >>> from dp_cmdp.frontends.lp_spec import private_blocks
    >>> from dp_cmdp.frontends.private_lp import private_program
    >>> farm = '''maximize
    ...  value: 3 wheat + 2 rye
    ... subject to
    ...  land: wheat + rye <= 4
    ... end'''
    >>> _ = Path("farm.lp").write_text(farm)
    >>> land = {"kind": "rhs", "rows": ["land"], "lower": 3, "upper": 5, "radius": 0.1}
    >>> private = private_program(read_lp("farm.lp"), private_blocks({"private": [land]}))
    >>> private.database("farm.lp")  # the file's own number is the private one
    Database(<private>, rhs[1])
    """

    program: ParametricLP
    groups: tuple[Group, ...]
    model: LpModel
    public_rows: tuple[str, ...]

    @door
    def values(self, source: str | Path | LpModel) -> FloatArray:
        """The private numbers that a CSV file, a model file or a model holds, entry by entry.

        Raises
        ------
        InvalidArgumentError
            If something is wrong with them, or one lies outside its public bounds.

        Notes
        -----
        **Privacy.** *Curator only*. Errors name lines, rows and columns, no numbers.
        """
        envelope, lines = self.program.envelope, None
        if isinstance(source, LpModel):
            values = read_values(source, self.groups, self.model, envelope)
        else:
            path = check_is_file(source, "CSV, MPS or LP")
            if path.name.lower().endswith(ENDINGS):
                return self.values(read_lp(path, relax=True))
            values, lines = read_csv(path, self.groups, self.model)
        check_bounds(values, self.groups, self.model, envelope, lines)
        return values

    @door
    def database(self, source: str | Path | LpModel, *, identity: str | None = None) -> Database:
        """The database, read at its first use: by a release, after the ledger's debit.

        What is wrong with the numbers is not said then; ``values(source)`` tells their curator.

        Notes
        -----
        **Privacy.** *Curator only*.
        """
        if not isinstance(source, LpModel):
            check_is_file(source, "CSV, MPS or LP")
        return Database.deferred(
            lambda: self.values(source), self.program.envelope, identity=identity
        )

    @door
    def value(self, objective: float) -> float:
        """The file's objective (its sense, with its offset) from that of a Solution."""
        return self.model.value(objective)

    @door
    def renamed(self, error: AssumptionError) -> AssumptionError:
        """An error of the program about the file's rows and columns, with what to change there."""
        return in_file_words(error, self.program, self.model, self.public_rows)

    def __repr__(self) -> str:
        return f"PrivateLp({self.model.name!r}, {self.program!r})"


@door
def private_program(
    model: LpModel, blocks: Sequence[PrivateBlock], *, public_model: bool = False
) -> PrivateLp:
    """The parametric program of a model, some of whose numbers are private.

    Parameters
    ----------
    model : LpModel
    blocks : sequence of PrivateBlock
        See :func:`dp_cmdp.frontends.lp_spec.read_spec`.
    public_model : bool
        The model's own numbers are public and the private ones come from elsewhere. Without it the
        model's numbers are taken for the private ones, and nothing public is made from them.

    Raises
    ------
    InvalidArgumentError
        By name of the row or column, with what to do; never with a number of the model.

    Notes
    -----
    **Privacy.** *Public*: what it returns and what it refuses follows from names, the public part
    of the model and the blocks.

    Examples
    --------
    >>> from pathlib import Path
    >>> from dp_cmdp.frontends.lp_file import read_lp
    >>> from dp_cmdp.frontends.lp_spec import private_blocks
    >>> from dp_cmdp.frontends.private_lp import private_program
    >>> farm = '''maximize
    ...  value: 3 wheat + 2 rye
    ... subject to
    ...  land: wheat + rye <= 4
    ... end'''
    >>> _ = Path("farm.lp").write_text(farm)
    >>> land = {"kind": "rhs", "rows": ["land"], "lower": 3, "upper": 5, "radius": 0.1}
    >>> private = private_program(read_lp("farm.lp"), private_blocks({"private": [land]}))
    >>> private.program.sensitive_blocks
    ('b',)
    """
    given = _check.items("blocks", blocks)
    for number, block in enumerate(given):
        _check.instance(f"blocks[{number}]", block, PrivateBlock)
    if not given:
        raise InvalidArgumentError("blocks must name something private")
    groups = groups_of(model, given, public_model=public_model)
    envelope = _envelope(model, given, groups, public_model=public_model)
    check_sides(model, groups, envelope, given, public_model=public_model)
    public = blanked(model, groups, envelope)
    check_crossed(public)
    entry = {group.name: envelope.index(group.name) for group in groups}
    costs = [group for group in groups if group.kind == "objective"]
    at = np.concatenate([np.empty(0, dtype=np.int64), *(group.column for group in costs)])
    objective = Affine(
        public.num_columns,
        constant=public.sign * public.c,
        at=at,
        entry=np.concatenate([np.empty(0, dtype=np.int64), *(entry[g.name] for g in costs)]),
        coefficient=public.sign,
    )
    rows = private_rows(public, groups, entry, envelope)
    program = ParametricLP(
        envelope,
        c=objective,
        A=rows.A,
        b=rows.b,
        A_ub=rows.A_ub,
        b_ub=rows.b_ub,
        A_eq=public.A[public.equal],
        b_eq=public.row_upper[public.equal],
        lower=rows.lower,
        upper=rows.upper,
        row_names=rows.names,
    )
    return PrivateLp(program, tuple(groups), public, rows.public_names)


def _envelope(
    model: LpModel, blocks: Sequence[PrivateBlock], groups: Sequence[Group], *, public_model: bool
) -> Envelope:
    """Bounds, radius and records of all groups."""
    parts, labels, start = {}, {}, 0
    first = model.num_rows + model.num_columns + 1  # after the labels of rows, columns and "all"
    for block, group in zip(blocks, groups, strict=True):
        lower, upper, radius = _bounds(model, block, group, public_model=public_model)
        try:
            parts[group.name] = Envelope(lower, upper, radius=radius, name=group.name)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{group.name}: {error}") from None
        labels[group.name] = {
            "entry": first + start + np.arange(group.size),
            "row": group.row,
            "column": model.num_rows + group.column,
            "all": np.full(group.size, first - 1),
        }[block.record]
        start += group.size
    return Envelope.join(parts, records=labels)


def _bounds(
    model: LpModel, block: PrivateBlock, group: Group, *, public_model: bool
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    ones = np.ones(group.size)
    if not block.relative:
        radius = None if block.radius is None else block.radius * ones
        return block.lower * ones, block.upper * ones, radius
    if not public_model:
        raise InvalidArgumentError(
            f"{block.name}: relative bounds would be made from the private numbers of the model "
            "file, and show them. Give absolute bounds, or a public model and the private numbers "
            "in a file of their own (--data, or public_model=True)"
        )
    nominal = own_numbers(model, group)
    usable = np.isfinite(nominal) & (nominal != 0.0)
    if not usable.all():
        wrong = int(np.argmin(usable))
        raise InvalidArgumentError(
            f"{block.name}: {place(model, group.kind, group.row[wrong], group.column[wrong])} is "
            "0 or infinite in the model: relative bounds say nothing about it. Give it a block "
            "with absolute ones"
        )
    ends = np.stack([block.lower * nominal, block.upper * nominal])
    radius = None if block.radius is None else block.radius * np.abs(nominal)
    return ends.min(axis=0), ends.max(axis=0), radius
