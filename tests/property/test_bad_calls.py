"""Bad arguments are refused by name, before anything is read or spent.

Every public callable (:mod:`tests.doors`), with one argument of a call that it takes replaced by
every awkward value (:mod:`tests.awkward`): only errors of the package may come out, without a
private number in text, arguments, attributes, cause or context, in a few seconds and in bounded
memory; and when an argument was at fault the database was not read and the ledger not debited.
The default run takes a sample by structure, ``pytest -m long`` all of it.
"""

import ast
import inspect
import re
import resource
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

import pytest

from dp_cmdp import Database, PrivacyBudget, release_blocks, release_database
from dp_cmdp.errors import BudgetExceededError, DPCMDPError, InvalidArgumentError, PrivacyWarning
from tests.awkward import CATALOGUE, OwnError
from tests.doors import (
    INSIDE,
    Door,
    SpyDatabase,
    SpyLedger,
    World,
    base_calls,
    doors,
    is_inside,
    modules,
    opened,
)
from tests.marked import leaks_from_error

ROOT = Path(__file__).parents[2]
#: Nothing may take longer, and no call more memory than this beyond what is in use.
SECONDS = 5.0
MEMORY_BYTES = 4 * 2**30
#: Awkward values that every parameter meets in the default run.
SAMPLE = 20
#: Takes ten seconds when nothing is wrong with its arguments: refusals only, in the long run.
SLOW = {"dp_cmdp.audit.suite.audit_everything": 120.0}


class Hung(BaseException):
    """The call took longer than it may; no handler of errors catches it."""


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    def interrupt(*_: Any) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def bounded_memory() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


@pytest.fixture(autouse=True)
def _quiet_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Texts taken for paths write here; warnings are no errors here, weak budgets are warned of."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def objection(door: Door, base: int, name: str, value: str, *, world: World) -> str | None:
    """What is wrong with one call, or None: it may be refused by name or, by luck, be valid."""
    call = opened(door, world)
    arguments = base_calls(door, world)[base] | {name: CATALOGUE[value]()}
    seconds = SLOW.get(door.name, SECONDS)
    SpyDatabase.reads = SpyLedger.debits = 0
    start = monotonic()
    found: str | None = None
    try:
        with interrupted_after(seconds):
            call(**arguments)
    except (Hung, OwnError) as error:
        found = "is interrupted" if isinstance(error, Hung) else None
    except DPCMDPError as error:
        found = _flaw(error)
    except Exception as error:
        found = f"{type(error).__name__}: {str(error)[:100]}"
    if monotonic() - start > seconds:
        found = f"took {monotonic() - start:.1f} s"
    return None if found is None else f"{door.name}({name}={value}) [{base}] {found}"


def _flaw(error: DPCMDPError) -> str | None:
    """What a named error does wrong."""
    if not str(error).strip():
        return "empty message"
    shown = leaks_from_error(error)
    if shown:
        return f"shows a private number: {shown}"
    if isinstance(error, InvalidArgumentError) and (SpyDatabase.reads or SpyLedger.debits):
        return f"read {SpyDatabase.reads}, debited {SpyLedger.debits} before: {error}"
    return None


def replaced(door: Door) -> list[inspect.Parameter]:
    """The parameters of a door that can be given by name."""
    return [p for p in door.parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def places(door: Door, world: World) -> list[tuple[int, str]]:
    """Every base call of a door with every parameter that is replaced in it."""
    return [(base, p.name) for base in range(len(base_calls(door, world))) for p in replaced(door)]


def sample(world: World) -> list[tuple[Door, int, str, str]]:
    """Every parameter with the next few values of the catalogue, which goes round and round."""
    values = cycle(CATALOGUE)
    return [
        (door, base, name, value)
        for door in doors()
        if door.name not in SLOW
        for base, name in places(door, world)
        for value in islice(values, SAMPLE)
    ]


def test_every_public_callable_has_a_base_call_that_it_takes(world):
    """Otherwise its bad calls would prove nothing."""
    for door in doors():
        call = opened(door, world)
        for arguments in base_calls(door, world):
            if door.name not in SLOW:
                call(**arguments)


def test_the_sample_meets_every_parameter_and_every_value(world):
    met = sample(world)
    assert {value for *_, value in met} == set(CATALOGUE)
    assert len(met) == len(set(met)) > 10_000


def test_sampled_bad_calls_raise_named_errors_only_and_touch_nothing(world):
    with bounded_memory():
        found = [objection(*call, world=world) for call in sample(world)]
    wrong = [text for text in found if text is not None]
    assert not wrong, "\n".join(wrong[:40])


@pytest.mark.long
@pytest.mark.parametrize("door", doors(), ids=lambda door: door.name)
def test_every_bad_call_raises_a_named_error_and_touches_nothing(door, world):
    with bounded_memory():
        found = [
            objection(door, base, name, value, world=world)
            for base, name in places(door, world)
            for value in CATALOGUE
        ]
    wrong = [text for text in found if text is not None]
    assert not wrong, "\n".join(wrong[:40])


def test_raw_errors_leaks_and_hangs_would_be_seen(world):
    """The harness can fail: each flaw of a deliberately careless callable is named."""

    def careless(value: Any) -> None:
        if isinstance(value, str):
            raise InvalidArgumentError(f"value must not be {0.1057913579}")
        if value is None:
            while True:
                pass
        _ = world.database.values
        if value == 0:
            raise InvalidArgumentError("value must not be 0")
        _ = value + 1

    door = Door("careless", careless)
    for value, named in (("no", "private number"), ("0", "read 1"), ("object", "TypeError")):
        assert named in str(objection(door, 0, "value", value, world=world))
    with interrupted_after(0.1), pytest.raises(Hung):
        careless(None)
    assert objection(door, 0, "value", "3", world=world) is None


@pytest.mark.parametrize("value", ["no", "text False", "0", "bool_", "0-d", "bool array", "[True]"])
def test_a_flag_is_true_or_false_and_nothing_that_counts_as_one(value, world):
    flags = [(d, p.name) for d in doors() for p in replaced(d) if p.annotation == "bool"]
    assert len(flags) > 15
    for door, name in flags:
        call = opened(door, world)
        for arguments in base_calls(door, world):
            SpyDatabase.reads = SpyLedger.debits = 0
            with pytest.raises(InvalidArgumentError, match=f"{name} must be True or False"):
                call(**arguments | {name: CATALOGUE[value]()})
            assert SpyDatabase.reads == SpyLedger.debits == 0


#: What numpy reads as other numbers than a person means, with a word of the refusal.
MISREAD = {
    "DataFrame": "table", "one column": "table", "no rows": "table", "table": "table",
    "two tables": "table", "masked": "masked", "masked constant": "masked", "two masked": "masked",
    "record array": "plain", "array with a unit": "plain", "bytearray": "bytes",
    "memoryview": "bytes", "very deep": "nested", "complex array": "", "[complex]": "",
    "1+0j": "", "NaT array": "", "timedelta array": "", "timedelta": "", "structured": "",
    "text array": "", "bytes array": "", "Categorical": "", "Series of text": "",
    "ragged": "",
}  # fmt: skip


@pytest.mark.parametrize("value", MISREAD)
def test_no_array_argument_takes_what_numpy_would_misread(value, world):
    arrays = [
        (door, p.name)
        for door in doors()
        for p in replaced(door)
        if "ArrayLike" in str(p.annotation).split(" | ")
    ]
    assert len(arrays) > 60
    for door, name in arrays:
        call = opened(door, world)
        for arguments in base_calls(door, world):
            with pytest.raises(InvalidArgumentError, match=MISREAD[value]):
                call(**arguments | {name: CATALOGUE[value]()})


def test_what_is_behind_a_door_is_neither_exported_nor_shown_to_users():
    exported = {
        f"{found.__module__}.{name}"
        for module in modules()
        if "._" not in module.__name__
        for name in getattr(module, "__all__", ())
        if inspect.isfunction(found := getattr(module, name)) or inspect.isclass(found)
    }
    shown = {name for text in _programs() for name in _imports(text)}
    assert exported
    assert shown
    own = {name for name in exported | shown if is_inside(name)}
    own -= {name for name in own if name.startswith("dp_cmdp.figures.")}  # figures/test_face.py
    assert own <= MET_ELSEWHERE


#: Exported, and met in another way than through its own base call.
MET_ELSEWHERE = {
    "dp_cmdp.cli.main.main",
    "dp_cmdp.errors.AssumptionError",
    "dp_cmdp.noise.certificate.NoiseCertificate",
    "dp_cmdp.theory.simulated_loss.SampledMean",
}


def _programs() -> Iterator[str]:
    """The code of the examples and of the documents."""
    yield from (path.read_text() for path in (ROOT / "examples").glob("*.py"))
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        yield from re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.DOTALL)


def _imports(program: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_place_behind_a_door_exists():
    known = {module.__name__ for module in modules()}
    known |= {
        f"{module}.{name}"
        for module, names in ((m.__name__, vars(m)) for m in modules())
        for name in names
    }
    for name in INSIDE:
        owner, _, method = name.rpartition(".")
        assert name in known or owner in known, name
        assert name in known or method, name


class OrderedDatabase(Database):
    """Writes down when its values are read."""

    log: ClassVar[list[str]] = []

    def __getattribute__(self, name: str) -> Any:
        if name == "values":
            OrderedDatabase.log.append("read")
        return super().__getattribute__(name)


class OrderedLedger(SpyLedger):
    """Writes down when it is debited; refuses when told to."""

    refuses = False

    def debit(self, *arguments: Any, **named: Any) -> Any:
        OrderedDatabase.log.append("debit")
        if self.refuses:
            raise BudgetExceededError("nothing is left")


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("method", ["database", "blocks"])
def test_the_debit_comes_before_the_first_read_and_a_refusal_reads_nothing(method, refuses, world):
    program = world.program
    database = OrderedDatabase([0.75, 0.625], program.envelope, identity="x")
    ledger = OrderedLedger()
    OrderedLedger.refuses = refuses
    OrderedDatabase.log.clear()
    budget, shares = PrivacyBudget(1, "1/1000"), {"A": "1/2", "b": "1/2"}

    def release() -> None:
        if method == "database":
            release_database(database, budget, ledger=ledger)
        else:
            release_blocks(database, budget, program=program, alphas=shares, ledger=ledger)

    if refuses:
        with pytest.raises(BudgetExceededError):
            release()
        assert OrderedDatabase.log == ["debit"]
    else:
        release()
        assert OrderedDatabase.log[0] == "debit"
        assert set(OrderedDatabase.log[1:]) == {"read"}


@pytest.mark.parametrize(("epsilon", "delta"), [(21, "1/10000"), (1, "1/500"), (1000, "1/2")])
def test_legal_but_weak_budgets_are_warned_about(epsilon, delta):
    with pytest.warns(PrivacyWarning, match="promises little"):
        PrivacyBudget(epsilon, delta)
