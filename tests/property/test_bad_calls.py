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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice, product
from pathlib import Path
from time import process_time
from typing import Any, ClassVar

import numpy as np
import pytest

from dp_cmdp import (
    Database,
    Policy,
    PrivacyBudget,
    cmdp_from_gymnasium,
    release_blocks,
    release_database,
    rollout,
)
from dp_cmdp.errors import BudgetExceededError, DPCMDPError, InvalidArgumentError, PrivacyWarning
from tests.awkward import CATALOGUE, RETURNED, OwnError, made
from tests.doors import (
    INSIDE,
    INSTANCES,
    SPECIAL,
    VARIANTS,
    Door,
    SpyDatabase,
    SpyLedger,
    World,
    base_calls,
    doors,
    is_inside,
    modules,
    opened,
    takes_function,
)
from tests.marked import leaks_from_error

ROOT = Path(__file__).parents[2]
#: Nothing may compute longer (or, on a machine that has other work too, wait so many times as
#: long), and no call take more memory than this beyond what is in use.
SECONDS = 5.0
PATIENCE = 10
MEMORY_BYTES = 4 * 2**30
#: Awkward values that every parameter meets in the default run.
SAMPLE = 20
#: Takes long when nothing is wrong with its arguments: in the long run only.
SLOW = {"dp_cmdp.audit.suite.audit_everything": 120.0}


class Hung(BaseException):
    """The call took longer than it may; no handler of errors catches it."""


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    def interrupt(*_: Any) -> None:
        raise Hung

    timers = {
        signal.ITIMER_PROF: (signal.SIGPROF, seconds),
        signal.ITIMER_REAL: (signal.SIGALRM, PATIENCE * seconds),
    }
    before = {sign: signal.signal(sign, interrupt) for sign, _ in timers.values()}
    for timer, (_, limit) in timers.items():
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)
        for sign, handler in before.items():
            signal.signal(sign, handler)


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
    SpyDatabase.reads = SpyLedger.debits = 0  # of tests before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def objection(door: Door, base: int, name: str, value: str, *, world: World) -> str | None:
    """What is wrong with one call, or None: it may be refused by name or, by luck, be valid."""
    call = opened(door, world)
    arguments = base_calls(door, world)[base]
    arguments[name] = made(value, arguments.get(name))
    seconds = SLOW.get(door.name, SECONDS)
    SpyDatabase.reads = SpyLedger.debits = 0
    start = process_time()
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
    if process_time() - start > seconds:
        found = f"took {process_time() - start:.1f} s"
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
    """The parameters of a door: of `*parts` one is given."""
    return [p for p in door.parameters if p.kind is not p.VAR_KEYWORD]


def places(door: Door, world: World) -> list[tuple[int, str, list[str]]]:
    """Every base call of a door with every parameter replaced in it, and what it is replaced by."""
    return [
        (base, p.name, values)
        for base in range(len(base_calls(door, world)))
        for p in replaced(door)
        for values in ([*CATALOGUE], RETURNED)[: 1 + takes_function(door, p)]
    ]


def sample(world: World) -> list[tuple[Door, int, str, str]]:
    """Every parameter with the next few values of its kind, which go round and round."""
    rounds = {values[0]: cycle(values) for values in ([*CATALOGUE], RETURNED)}
    return [
        (door, base, name, value)
        for door in doors()
        if door.name not in SLOW
        for base, name, values in places(door, world)
        for value in islice(rounds[values[0]], SAMPLE)
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
    assert {value for *_, value in met} == {*CATALOGUE, *RETURNED}
    assert len(met) == len(set(met)) > 13_000


def test_there_are_as_many_bad_calls_as_the_promise_says(world):
    found = [door for door in doors() if replaced(door)]
    assert len(found) > 200
    assert sum(len(replaced(door)) for door in found) > 600
    assert len(CATALOGUE) == 163
    assert sum(len(values) for door in found for *_, values in places(door, world)) > 110_000


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
            for base, name, values in places(door, world)
            for value in values
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


def outcome_of(call: Callable[[], Any]) -> str | None:
    """What is wrong with how a call ends, or None."""
    try:
        call()
    except DPCMDPError as error:
        return _flaw(error)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"
    return None


def test_what_a_deferred_database_reads_is_refused_without_being_shown(world):
    """Also where the function that reads is itself the awkward value."""

    def release(read: Callable[[], Any]) -> Any:
        database = Database.deferred(read, world.envelope)
        return release_database(database, world.budget, rng=np.random.default_rng(0))

    SpyDatabase.reads = SpyLedger.debits = 0
    for value, make in CATALOGUE.items():
        for read in (make, make()):
            found = outcome_of(lambda read=read: release(read))
            assert found is None, f"{value}: {found}"


class Tabular:
    """An environment whose table and answers are as awkward as they are told to be."""

    initial_state_distrib = (1.0,)

    def __init__(self, P: Any, *, reset: Any = (0, {}), step: Any = None) -> None:
        self.P = P
        self.said = reset, step

    def reset(self, *, seed: int | None = None) -> Any:
        return self.said[0]

    def step(self, action: int) -> Any:
        return self.said[1]


GOOD_MOVE = (1.0, 0, 0.5, True)
GOOD_STEP = (0, 1.0, True, False, {"cost": 0.5})


def with_part(whole: tuple[Any, ...], place: int, part: Any) -> tuple[Any, ...]:
    return (*whole[:place], part, *whole[place + 1 :])


def test_awkward_tables_of_environments_are_refused_by_name():
    around = [
        lambda part: part,
        lambda part: {0: part},
        lambda part: {0: {0: part}},
        lambda part: {0: {0: [part]}},
        *(lambda part, k=k: {0: {0: [with_part(GOOD_MOVE, k, part)]}} for k in range(4)),
    ]
    for value, place in product(CATALOGUE, range(len(around))):
        env = Tabular(around[place](CATALOGUE[value]()))
        found = outcome_of(
            lambda env=env: cmdp_from_gymnasium(env, cost=lambda s, a: 0.0, f0=1.0, gamma=0.5)
        )
        assert found is None, f"{value} at {place}: {found}"


def test_awkward_answers_of_environments_are_refused_by_name():
    around = [
        lambda part: {"reset": part, "step": GOOD_STEP},
        lambda part: {"reset": (part, {}), "step": GOOD_STEP},
        lambda part: {"step": part},
        *(lambda part, k=k: {"step": with_part(GOOD_STEP, k, part)} for k in range(5)),
        lambda part: {"step": with_part(GOOD_STEP, 4, {"cost": part})},
    ]
    policy = Policy([[1.0]])
    for value, place in product(CATALOGUE, range(len(around))):
        env = Tabular({}, **around[place](CATALOGUE[value]()))
        found = outcome_of(lambda env=env: rollout(env, policy, episodes=1, seed=0, gamma=0.5))
        assert found is None, f"{value} at {place}: {found}"


def test_a_good_table_and_good_answers_are_taken():
    """Otherwise the refusals above would prove nothing."""
    env = Tabular({0: {0: [GOOD_MOVE]}}, step=GOOD_STEP)
    cmdp = cmdp_from_gymnasium(env, cost=lambda s, a: 0.0, f0=1.0, gamma=0.5, check=False)
    assert cmdp.r[0, 0] == 0.5
    played = rollout(env, Policy([[1.0]]), episodes=2, seed=0, gamma=0.5)
    assert played.costs.tolist() == [[0.5], [0.5]]


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
    "dp_cmdp.errors.InvalidArgumentError",
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


def test_what_the_base_calls_say_is_about_callables_that_exist():
    """A table that names what was moved or renamed would weaken a call in silence."""
    found = {door.name: door for door in doors()}
    owned = {f"{d.owner.__module__}.{d.owner.__qualname__}" for d in found.values() if d.owner}
    taken = {f"{name}.{p.name}" for name, door in found.items() for p in door.parameters}
    assert set(SPECIAL) <= taken
    assert set(INSTANCES) <= owned
    assert {f"{name}.{p}" for name, sets in VARIANTS.items() for s in sets for p in s} <= taken
    assert set(SLOW) <= set(found)


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
