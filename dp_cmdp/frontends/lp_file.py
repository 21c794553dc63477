"""Files of linear programs: what an MPS or LP file says, as HiGHS reads it.

    minimise or maximise  cᵀx + offset
    subject to            row_lower ≤ A x ≤ row_upper,   lower ≤ x ≤ upper

HiGHS is lenient: it leaves out what it does not understand, and says so in its log at best. Here a
file must keep to a strict grammar (:mod:`dp_cmdp.frontends.file_outline`), HiGHS must have made of
it what that grammar reads, and whatever its log warns of is refused, but for coefficients of 1e-12
and less, which are read as 0. Which of the numbers are private is said elsewhere
(:mod:`dp_cmdp.frontends.private_lp`); until then the whole model may be, so that nothing shows its
numbers.
"""

from __future__ import annotations

import locale
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp._storage import check_is_file
from dp_cmdp.errors import InvalidArgumentError, PrivacyLeakError
from dp_cmdp.frontends import lp_grammar, mps_grammar
from dp_cmdp.frontends.file_outline import GrammarError, Outline, numbered_lines
from dp_cmdp.program.linear_program import LinearProgram

ENDINGS = (".mps", ".lp", ".mps.gz", ".lp.gz")
#: The least that HiGHS allows: smaller coefficients are read as 0.
SMALLEST = 1e-12
#: Warnings that are no reason to refuse a file: the first is documented, the second depends on
#: numbers that may be private and is judged where it is known which are.
_ACCEPTED = ("less than or equal to 1e-12: ignored", "has inconsistent bounds")
_CONTINUOUS, _INTEGER = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LpModel:
    """A linear program as its file states it.

    Attributes
    ----------
    name : str
        The file's name without its ending.
    maximise : bool
    c : FloatArray
    offset : float
    A : csr_array
    row_lower, row_upper : FloatArray
        Equal for equality rows; −∞ and ∞ where a row has no such side.
    lower, upper : FloatArray
    row_names, column_names : tuple of str

    Notes
    -----
    **Privacy.** *Curator only* until all of the file is known to be public. ``repr`` and error
    texts show sizes and names; pickling and copying are refused.

    Examples
    --------
    >>> from pathlib import Path
    >>> from dp_cmdp import solve
    >>> from dp_cmdp.frontends.lp_file import read_lp
    >>> farm = '''maximize
    ...  value: 3 wheat + 2 rye
    ... subject to
    ...  land: wheat + rye <= 4
    ... end'''
    >>> _ = Path("farm.lp").write_text(farm)
    >>> model = read_lp("farm.lp")
    >>> round(model.value(solve(model.program()).objective), 6)
    12.0
    """

    name: str
    maximise: bool
    c: FloatArray
    offset: float
    A: sparse.csr_array
    row_lower: FloatArray
    row_upper: FloatArray
    lower: FloatArray
    upper: FloatArray
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]

    @property
    def num_rows(self) -> int:
        return self.row_lower.size

    @property
    def num_columns(self) -> int:
        return self.c.size

    @property
    def sign(self) -> float:
        """1 for a file that maximises, −1 for one that minimises: ours is maximisation."""
        return 1.0 if self.maximise else -1.0

    @property
    def equal(self) -> np.ndarray:
        """The equality rows."""
        return self.row_lower == self.row_upper

    def program(self) -> LinearProgram:
        """The program at the file's numbers, as a maximisation of rows A x ≤ b.

        Rows: the upper sides in the file's order, then the lower sides with their signs turned;
        equality rows apart. The offset is left out (:meth:`value` adds it).
        """
        up = np.isfinite(self.row_upper) & ~self.equal
        down = np.isfinite(self.row_lower) & ~self.equal
        return LinearProgram(
            self.sign * self.c,
            sparse.vstack([self.A[up], -self.A[down]], format="csr"),
            b=np.concatenate([self.row_upper[up], -self.row_lower[down]]),
            A_eq=self.A[self.equal],
            b_eq=self.row_upper[self.equal],
            lower=self.lower,
            upper=self.upper,
        )

    @door
    def value(self, objective: float) -> float:
        """The file's objective, from that of :meth:`program`."""
        return self.sign * objective + self.offset

    def __repr__(self) -> str:
        return (
            f"LpModel({self.name!r}, {self.num_rows} rows, {self.num_columns} columns, "
            f"{self.A.nnz} coefficients)"
        )

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise PrivacyLeakError(
            "an LpModel refuses to be pickled or copied: its numbers may be private; pass the path"
        )


@door
def read_lp(path: str | Path, *, relax: bool = False) -> LpModel:
    """Read an MPS or LP file, plain or gzipped.

    Parameters
    ----------
    path : str or Path
        Its name ends in ``.mps``, ``.lp``, ``.mps.gz`` or ``.lp.gz``.
    relax : bool
        Take integer columns as continuous ones. Without it they are refused: a certified point of
        the relaxation is no answer to the integer program.

    Raises
    ------
    InvalidArgumentError
        Without quoting a number of the file, which may be private.

    Notes
    -----
    **Privacy.** *Curator only* unless the file is public.

    Examples
    --------
    >>> from pathlib import Path
    >>> from dp_cmdp.frontends.lp_file import read_lp
    >>> farm = '''maximize
    ...  value: 3 wheat + 2 rye
    ... subject to
    ...  land: wheat + rye <= 4
    ... end'''
    >>> _ = Path("farm.lp").write_text(farm)
    >>> model = read_lp("farm.lp")
    >>> model.row_names, model.column_names
    (('land',), ('wheat', 'rye'))
    """
    source, ending = checked_file(path)
    stated = outline_of(source, ending)
    found = _read(source)
    lp = found.lp_
    if found.hessian_.dim_:
        raise InvalidArgumentError(f"{source.name} has a quadratic objective; it must be linear")
    if not lp.num_col_:
        raise InvalidArgumentError(f"{source.name} has no columns: there is nothing to decide")
    columns = _names(lp.col_names_, lp.num_col_, "C", source.name)
    _check_kinds(list(lp.integrality_), columns, relax=relax, file=source.name)
    model = LpModel(
        name=source.name[: -len(ending)],
        maximise=lp.sense_ == highspy.ObjSense.kMaximize,
        c=_numbers(lp.col_cost_),
        offset=float(lp.offset_),
        A=_matrix(lp),
        row_lower=_numbers(lp.row_lower_),
        row_upper=_numbers(lp.row_upper_),
        lower=_numbers(lp.col_lower_),
        upper=_numbers(lp.col_upper_),
        row_names=_names(lp.row_names_, lp.num_row_, "R", source.name),
        column_names=columns,
    )
    if not all(np.isfinite(part).all() for part in (model.c, model.A.data, [model.offset])):
        raise InvalidArgumentError(f"{source.name} has a coefficient or cost that is not finite")
    if not stated.fits(model, SMALLEST):
        raise InvalidArgumentError(
            f"{source.name}: HiGHS read other rows, columns or numbers than stand there; name rows "
            "and columns by letters, digits and underscores, or write the file in the other format"
        )
    return model


def checked_file(path: str | Path) -> tuple[Path, str]:
    """A path to a file that is there, and its ending."""
    source = check_is_file(path, "MPS or LP")
    ending = next((end for end in ENDINGS if source.name.lower().endswith(end)), None)
    if ending is None:
        raise InvalidArgumentError(
            f"path must name a file that ends in {', '.join(ENDINGS)}; got {source.name!r}"
        )
    return source, ending


def outline_of(source: Path, ending: str, *, any_number: bool = False) -> Outline:
    """What the file says by the strict grammar, which HiGHS does not keep to."""
    grammar = mps_grammar if ending.startswith(".mps") else lp_grammar
    lines = numbered_lines(source, zipped=ending.endswith(".gz"))
    try:
        return grammar.outline(lines, any_number=any_number)
    except GrammarError as error:
        raise InvalidArgumentError(f"{source.name}, line {error.line}: {error.rule}") from None


@contextmanager
def decimal_points() -> Iterator[None]:
    """HiGHS reads and writes numbers as the process's locale does: here 1.5, not 1,5."""
    before = locale.setlocale(locale.LC_NUMERIC)
    locale.setlocale(locale.LC_NUMERIC, "C")
    try:
        yield
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


def _read(source: Path) -> highspy.HighsModel:
    """The model, unless HiGHS left something out; its log may quote private numbers and stays."""
    highs: Any = highspy.Highs()
    said: list[str] = []
    highs.setOptionValue("log_to_console", False)
    highs.setOptionValue("small_matrix_value", SMALLEST)
    highs.setCallback(lambda kind, message, *more: said.append(message), None)
    highs.startCallback(highspy.cb.HighsCallbackType.kCallbackLogging)
    with decimal_points():
        status = highs.readModel(str(source))
    warned = any(
        text.startswith(("WARNING", "ERROR")) and not any(part in text for part in _ACCEPTED)
        for text in said
    )
    if status == highspy.HighsStatus.kError or warned:
        raise InvalidArgumentError(
            f"{source.name} must be an MPS or LP file that HiGHS reads without a warning; it has "
            "errors, or names or entries twice (`highs FILE` says which; its text may quote "
            "private numbers)"
        )
    return highs.getModel()


def _numbers(values: Any) -> FloatArray:
    return _check.frozen(np.array(values, dtype=np.float64))


def _matrix(lp: highspy.HighsLp) -> sparse.csr_array:
    part: Any = lp.a_matrix_
    by_columns = part.format_ == highspy.MatrixFormat.kColwise
    kind = sparse.csc_array if by_columns else sparse.csr_array
    arrays = np.array(part.value_), np.array(part.index_), np.array(part.start_)
    return _check.frozen_sparse(sparse.csr_array(kind(arrays, shape=(lp.num_row_, lp.num_col_))))


def _names(given: Sequence[str], count: int, letter: str, file: str) -> tuple[str, ...]:
    """The file's names, or R0, R1, … and C0, C1, … where it has none."""
    names = tuple(given) or tuple(f"{letter}{i}" for i in range(count))
    if len(set(names)) != count:
        raise InvalidArgumentError(
            f"{file} must name each {'row' if letter == 'R' else 'column'} once; some names stand "
            "twice or are missing"
        )
    return names


def _check_kinds(kinds: Sequence[Any], columns: tuple[str, ...], *, relax: bool, file: str) -> None:
    integer = [name for name, kind in zip(columns, kinds, strict=False) if kind == _INTEGER]
    other = [
        name
        for name, kind in zip(columns, kinds, strict=False)
        if kind not in (_INTEGER, _CONTINUOUS)
    ]
    if other:
        raise InvalidArgumentError(
            f"{file} has semi-continuous columns ({shown(other)}), which no linear program has"
        )
    if integer and not relax:
        raise InvalidArgumentError(
            f"{file} has integer columns ({shown(integer)}): answers are certified for linear "
            "programs. To have the relaxation solved, whose answer need not be integer, say so: "
            "--relax, or read_lp(path, relax=True)"
        )


def shown(names: Sequence[str]) -> str:
    """The first names of a list, and how many there are besides."""
    more = f" and {len(names) - _check.SHOWN} more" if len(names) > _check.SHOWN else ""
    return ", ".join(names[: _check.SHOWN]) + more
