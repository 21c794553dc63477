"""A model file with private numbers, read without a look at them.

What HiGHS makes of a file may depend on how large a number is: from 1e15 on it refuses a
coefficient, from 1e20 on a side of a row is none, and two sides that are equal make an equality. So
numbers at private places are written over by neutral ones before HiGHS reads the file. What is
public then follows from names, signs of rows, public numbers and zeros alone; the file itself is
read by the release, after the debit, as a file of private numbers is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from dp_cmdp._door import door
from dp_cmdp.frontends.file_outline import Stated, number, numbered_lines
from dp_cmdp.frontends.lp_file import SMALLEST, LpModel, checked_file, outline_of, read_lp
from dp_cmdp.frontends.lp_places import Group, groups_of, is_named
from dp_cmdp.frontends.lp_spec import PrivateBlock

#: In the place of each kind of number. Bounds are none that a public file is likely to have, so
#: that they do not meet the other bound of their column.
_NEUTRAL = {"coefficient": "1", "objective": "1", "rhs": "1", "range": "1", "bound": "999983.75"}


@door
def read_public_part(
    path: str | Path, blocks: Sequence[PrivateBlock], *, relax: bool = False
) -> LpModel:
    """Read a model file whose numbers are private at the places that `blocks` name.

    Parameters
    ----------
    path, relax
        As in :func:`dp_cmdp.frontends.lp_file.read_lp`.
    blocks : sequence of PrivateBlock

    Returns
    -------
    LpModel
        With neutral numbers at private places; :func:`private_program` takes it.

    Notes
    -----
    Which of the private numbers are 0 is kept, for ``pattern = "file"`` says that this is public.
    **Privacy.** *Public*.

    Examples
    --------
    >>> from pathlib import Path
    >>> from dp_cmdp.frontends.lp_neutral import read_public_part
    >>> from dp_cmdp.frontends.lp_spec import private_blocks
    >>> farm = '''maximize
    ...  value: 3 wheat + 2 rye
    ... subject to
    ...  land: wheat + rye <= 4
    ... end'''
    >>> _ = Path("farm.lp").write_text(farm)
    >>> land = {"kind": "rhs", "rows": ["land"], "lower": 3, "upper": 5, "radius": 0.1}
    >>> read_public_part("farm.lp", private_blocks({"private": [land]})).row_upper  # not 4
    array([1.])
    """
    source, ending = checked_file(path)
    stated = outline_of(source, ending, any_number=True).stated
    lines = [line for _, line in numbered_lines(source, zipped=ending.endswith(".gz"))]

    def read(is_private: Callable[[Stated], bool]) -> LpModel:
        with tempfile.TemporaryDirectory() as folder:
            name = source.name[: -len(ending)] + ending.removesuffix(".gz")
            neutral = Path(folder) / name
            neutral.write_text(_rewritten(lines, [spot for spot in stated if is_private(spot)]))
            return read_lp(neutral, relax=relax)

    named = read(lambda spot: any(is_named(block, spot) for block in blocks))
    return read(_at_places(named, groups_of(named, blocks, public_model=False)))


def _rewritten(lines: Sequence[str], private: Sequence[Stated]) -> str:
    """The lines with neutral numbers at private places."""
    found = list(lines)
    for spot in sorted(private, key=lambda spot: (spot.line, -spot.start)):
        line = found[spot.line - 1]
        text = line[spot.start : spot.end].replace(" ", "").replace("\t", "")
        value = number(text)
        kept = spot.kind != "range" and value is not None and abs(value) <= _least(spot)
        new = "0" if kept else _NEUTRAL[spot.kind]
        found[spot.line - 1] = line[: spot.start] + new + line[spot.end :]
    return "\n".join(found) + "\n"


def _least(spot: Stated) -> float:
    """What HiGHS takes for 0."""
    return SMALLEST if spot.kind == "coefficient" else 0.0


def _at_places(model: LpModel, groups: Sequence[Group]) -> Callable[[Stated], bool]:
    """Whether a number stands at a place of a group."""
    places = {
        (group.kind, int(i), int(j), group.side if group.kind == "bound" else None)
        for group in groups
        for i, j in zip(group.row, group.column, strict=True)
    }
    rows = {name: i for i, name in enumerate(model.row_names)}
    columns = {name: j for j, name in enumerate(model.column_names)}

    def is_private(spot: Stated) -> bool:
        kind = "rhs" if spot.kind == "range" else spot.kind
        row, column = rows.get(spot.row, -1), columns.get(spot.column, -1)
        sides = {"l": "lower", "u": "upper"}
        ends = [sides[end] for end in spot.ends] or [None]
        return any((kind, row, column, end) in places for end in ends)

    return is_private
