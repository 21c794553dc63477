"""Bad parameters are refused by name, before anything is read or spent.

100,000 calls, each with at least one argument that breaks its rule, over the public functions. Only
errors of the package may come out; the database and the ledger are spies that must not be touched.
"""

import math
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from dp_cmdp import (
    CMDP,
    Database,
    Envelope,
    Laplace,
    LinearProgram,
    ParametricLP,
    Policy,
    PrivacyBudget,
    PrivacyLedger,
    TruncatedLaplace,
    release_blocks,
    release_database,
    solve_private,
)
from dp_cmdp.affine import Affine
from dp_cmdp.errors import BudgetExceededError, DPCMDPError, PrivacyWarning
from dp_cmdp.metrics import mean_interval
from dp_cmdp.privacy import allocate
from dp_cmdp.sampling import LatticeLaplace, LatticeTruncatedLaplace
from dp_cmdp.sampling.mean_shift import mean_shift
from dp_cmdp.sampling.optimal_noise import OptimalNoise

CALLS = 100_000

NAN, INF = math.nan, math.inf
#: Never a number.
NOT_NUMBERS = [
    None,
    "",
    "abc",
    "1/0",
    "nan",
    [],
    {},
    object(),
    1j,
    b"1",
    lambda: 0,
    np.array([1.0, 2.0]),
    Decimal("NaN"),
    Decimal("sNaN"),
    {"a": 1},
    (1,),
    type,
]
NOT_POSITIVE = [0, -1, -0.0, -1e-300, Fraction(-1, 2), Decimal(-3), -(10**400), np.float64(-2)]
NOT_FINITE = [NAN, INF, -INF, np.float64("nan"), np.float32("inf"), Decimal("Infinity")]
BAD_EPSILON = [*NOT_NUMBERS, *NOT_POSITIVE, *NOT_FINITE, True, "-1", "-1/3", 1e300, 10**400, 1e7]
BAD_DELTA = [
    *NOT_NUMBERS,
    *NOT_POSITIVE,
    *NOT_FINITE,
    True,
    0.5000001,
    1,
    2,
    1e300,
    Fraction(2, 3),
    "0.51",
]
BAD_SCALE = [*NOT_NUMBERS, *NOT_POSITIVE, *NOT_FINITE, True]
BAD_COUNT = [*NOT_NUMBERS, *NOT_FINITE, 0, -1, 1.5, True, "3", np.float64(3.0), Fraction(3, 1)]
BAD_VECTOR = [
    "abc",
    ["a", "b"],
    [[1.0], [1.0, 2.0]],
    object(),
    1j,
    [1j, 2j],
    {"a": 1},
    lambda: 0,
    [NAN, 1.0],
    [INF, 1.0],
    [1.0, 2.0, 3.0, 4.0, 5.0],
    [[1.0, 2.0], [3.0, 4.0]],
    [None, 1.0],
]
#: A table of bounds is a matrix of entries, which is legal.
BAD_BOUNDS = [bad for bad in BAD_VECTOR if bad != [[1.0, 2.0], [3.0, 4.0]]]
BAD_WORD = ["", "TIGHT", "x", None, 3, [], {}, object(), b"tight", np.array(["tight", "paper"])]
BAD_GENERATOR = [0, 7, "seed", np.random, np.random.RandomState(0), [], object(), 1.5]
NOT_OURS = [None, 0, "x", [], {}, object(), 1.5, np.zeros(2), (1, 0.1), type, lambda: 0]


class SpyDatabase(Database):
    """Counts how often its values are read."""

    reads = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "values":
            SpyDatabase.reads += 1
        return super().__getattribute__(name)


class SpyLedger(PrivacyLedger):
    """Counts debits; it keeps no file."""

    debits = 0

    def __init__(self) -> None:
        SpyLedger.debits = 0

    def debit(self, *arguments: Any, **named: Any) -> Any:
        SpyLedger.debits += 1


@dataclass(frozen=True)
class Target:
    """A public function, arguments that it takes, and arguments that it must refuse."""

    call: Callable[..., Any]
    good: dict[str, Any]
    bad: dict[str, list[Any]]


def small_program() -> ParametricLP:
    envelope = Envelope([0.5, 0.5], [1.0, 1.0], radius=0.25)
    return ParametricLP(
        envelope,
        c=Affine(1, at=[0], entry=[0]),
        A=Affine((1, 1), at=([0], [0]), entry=[0]),
        b=Affine(1, at=[0], entry=[1]),
        upper=4.0,
    )


def targets(ledger: SpyLedger, folder: Any) -> list[Target]:
    program = small_program()
    database = SpyDatabase([0.75, 0.625], program.envelope, identity="spy")
    nameless = SpyDatabase([0.75, 0.625], program.envelope)
    budget = PrivacyBudget(1, "1/1000")
    real = PrivacyLedger(folder / "ledger.sqlite")
    release = release_database(Database([0.75, 0.625], program.envelope), budget)
    shares = {"A": "1/3", "b": "1/3", "c": "1/3"}
    bad_shares = [
        {"A": "1/2", "b": "1/3", "c": "1/3"},
        {"A": 1, "b": -1, "c": 1},
        {"A": NAN, "b": 1},
        {"A": 1, "d": 0},
        {"A": "x", "b": 1},
        {},
        {"A": 1},
        None,
        3,
        "A",
        [("A", 1)],
        {"A": None, "b": 1},
        {1: 1},
    ]
    stateful = [
        Target(
            release_database,
            {"database": database, "budget": budget, "ledger": ledger},
            {
                "database": NOT_OURS,
                "budget": [*NOT_OURS, {"epsilon": 1}],
                "rng": BAD_GENERATOR,
                "calibration": BAD_WORD,
                "ledger": [x for x in NOT_OURS if x is not None],
            },
        ),
        Target(
            release_database,
            {"database": database, "budget": budget, "ledger": ledger, "calibration": "optimal"},
            {"close": ["", "both", 3, None, [], {"values": "x"}, {"other": "upper"}, object()]},
        ),
        Target(
            release_database,
            {"budget": budget, "ledger": ledger},
            {"database": [nameless]},  # a ledger needs an identity
        ),
        Target(
            release_blocks,
            {
                "database": database,
                "budget": budget,
                "program": program,
                "alphas": shares,
                "ledger": ledger,
            },
            {
                "database": NOT_OURS,
                "budget": NOT_OURS,
                "program": [*NOT_OURS, small_program()],
                "alphas": bad_shares,
                "rng": BAD_GENERATOR,
                "calibration": [*BAD_WORD, "optimal"],
                "ledger": [x for x in NOT_OURS if x is not None],
            },
        ),
    ]
    return [
        *stateful,
        Target(PrivacyBudget, {"epsilon": 1, "delta": "1/1000"}, _budget_arguments()),
        Target(
            Envelope,
            {"lower": [0.0, 1.0], "upper": [1.0, 2.0]},
            {
                "lower": [*BAD_BOUNDS, None, [2.0, 3.0], [0.0, 2.0], NAN],
                "upper": [*BAD_BOUNDS, None, [0.0, 1.0], [-1.0, 9.0], -INF],
                "radius": [*BAD_BOUNDS, 0.0, -1.0, [0.5, -0.5], 1.5, [0.5, 2.0], NAN, INF, 1e300],
                "shape": [-1, "x", (0,), (3, 3, 1), 1.5, object()],
                "records": [[0.5, 1.0], ["a", "b"], [-1, 0], [0, 1, 2], object(), NAN],
            },
        ),
        Target(
            Database,
            {"values": [0.75, 0.625], "envelope": program.envelope},
            {
                "values": [*BAD_VECTOR, [0.0, 0.6], [0.6, 7.0], {"values": [0.75]}, None, {}],
                "envelope": NOT_OURS,
                "identity": ["", "  ", 3, [], object(), b"x"],
            },
        ),
        Target(
            TruncatedLaplace.calibrate,
            {"sensitivity": 1.0, "epsilon": 1, "delta": "1/1000"},
            {
                "sensitivity": BAD_SCALE,
                "epsilon": [*NOT_NUMBERS, *NOT_POSITIVE, *NOT_FINITE, True],
                "delta": BAD_DELTA,
                "calibration": BAD_WORD,
                "together": BAD_COUNT,
            },
        ),
        Target(
            Laplace.calibrate,
            {"sensitivity": 1.0, "epsilon": 1},
            {
                "sensitivity": BAD_SCALE,
                "epsilon": [*NOT_NUMBERS, *NOT_POSITIVE, *NOT_FINITE, True],
            },
        ),
        Target(
            TruncatedLaplace,
            {"scale": 1.0, "support": 2.0},
            {"scale": BAD_SCALE, "support": BAD_SCALE},
        ),
        Target(
            LatticeTruncatedLaplace.calibrate,
            {"epsilon": 1, "delta": "1/1000", "steps": 8},
            {
                "epsilon": BAD_EPSILON,
                "delta": BAD_DELTA,
                "steps": [*BAD_COUNT, 2**41],
                "entries": [*NOT_NUMBERS, *NOT_POSITIVE, *NOT_FINITE, Fraction(1, 2)],
            },
        ),
        Target(
            LatticeLaplace.calibrate,
            {"epsilon": 1, "steps": 8},
            {"epsilon": BAD_EPSILON, "steps": [*BAD_COUNT, 2**41]},
        ),
        Target(
            OptimalNoise.calibrate,
            {"epsilon": 1, "delta": "1/10", "steps": 8},
            {"epsilon": BAD_EPSILON, "delta": BAD_DELTA, "steps": BAD_COUNT},
        ),
        Target(
            mean_shift,
            {"kind": "tight", "epsilon": 1, "delta": "1/10"},
            {"kind": BAD_WORD, "epsilon": BAD_EPSILON, "delta": BAD_DELTA, "entries": BAD_COUNT},
        ),
        Target(
            allocate,
            {"budget": budget, "alphas": shares},
            {"alphas": [x for x in bad_shares if x != {"A": 1}], "budget": NOT_OURS},
        ),
        Target(
            LinearProgram,
            {"c": [1.0, 1.0], "A": [[1.0, 1.0]], "b": [1.0]},
            {
                "c": [*BAD_VECTOR, [], None],
                "A": ["x", [[1.0]], [[NAN, 1.0]], [1.0, 2.0], object(), None, [[1j, 1]], 3],
                "b": [[1.0, 2.0], "x", [NAN], object()],
                "lower": [[2.0], "x", [NAN, 0], INF, [1.0, 2.0, 3.0]],
                "upper": [[-1.0, -1.0], "x", [NAN, 0.0], -INF],
            },
        ),
        Target(
            ParametricLP,
            {"envelope": program.envelope, "c": [1.0, 1.0]},
            {
                "envelope": NOT_OURS,
                "c": [*BAD_VECTOR[:5], None, Affine((1, 2)), Affine(2, at=[0], entry=[7])],
                "A": ["x", 3, Affine((1, 5)), Affine(2), [[1.0, 1.0]]],
                "b": [[1.0], "x", Affine((1, 1))],
                "lower": ["x", [NAN, 1.0]],
                "row_names": [["a", "b", "c"], 3],
            },
        ),
        Target(
            Affine,
            {"shape": 2, "at": [0], "entry": [0]},
            {
                "shape": [-1, (1, 2, 3), "x", None, 1.5, (), ("a",), (1.5,)],
                "at": [[5], [-1], [0.5], "x", [[0], [0, 1]], object()],
                "entry": [[-1], [0.5], "x", object()],
                "coefficient": [NAN, [INF], "x", object(), None, 1j],
                "constant": [[1.0], "x", [NAN, 0.0], object()],
            },
        ),
        Target(
            solve_private,
            {"program": program, "release": release},
            {"program": [*NOT_OURS, program.envelope], "release": [*NOT_OURS, program]},
        ),
        Target(
            Policy,
            {"probs": [[0.5, 0.5]]},
            {"probs": [*BAD_VECTOR, [[0.5, 0.6]], [[-1.0, 2.0]], [[NAN, 1.0]], None, [], 3]},
        ),
        Target(
            CMDP,
            {
                "T": np.full((1, 2, 1), 1.0),
                "r": [[1.0, 1.0]],
                "f": [[1.0, 1.0]],
                "f0": [1.0],
                "mu": [1.0],
                "gamma": 0.9,
            },
            {
                "T": ["x", np.zeros((1, 2, 1)), np.ones(3), [[NAN], [1.0]], None, object()],
                "r": ["x", [1.0], [[NAN, 1.0]], None, object()],
                "f": ["x", [1.0], [[NAN, 1.0]], None, object(), [[1.0]]],
                "f0": ["x", [1.0, 2.0], [NAN], object()],
                "mu": ["x", [0.5], [-1.0], [NAN], [0.5, 0.5], object()],
                "gamma": [*NOT_NUMBERS, *NOT_FINITE, 1, 1.0, 2, -0.1, True],
            },
        ),
        Target(
            mean_interval,
            {"samples": [1.0, 2.0, 3.0]},
            {
                "samples": [*BAD_VECTOR[:10], [], [1.0], None],
                "confidence": [*NOT_NUMBERS, *NOT_FINITE, 0, 1, 2, True],
                "method": BAD_WORD,
            },
        ),
        Target(
            real.create,
            {"identity": "x", "budget": budget},
            {"identity": ["", " ", 3, None, "a\nb", "x" * 500, []], "budget": NOT_OURS},
        ),
        Target(
            PrivacyLedger,
            {"path": folder / "other.sqlite"},
            {"timeout_seconds": [*NOT_NUMBERS[:11], *NOT_FINITE[:3], -1, 1e9, True]},
        ),
    ]


def _budget_arguments() -> dict[str, list[Any]]:
    return {"epsilon": BAD_EPSILON, "delta": BAD_DELTA}


def corrupted(target: Target, rng: np.random.Generator) -> dict[str, Any]:
    """The good arguments with one or more of them made bad."""
    names = list(target.bad)
    chosen = rng.choice(
        len(names), size=int(rng.integers(1, min(3, len(names)) + 1)), replace=False
    )
    arguments = dict(target.good)
    for place in chosen:
        options = target.bad[names[place]]
        arguments[names[place]] = options[int(rng.integers(len(options)))]
    return arguments


def test_a_hundred_thousand_bad_calls_raise_only_named_errors_and_touch_nothing(tmp_path):
    ledger = SpyLedger()
    pool = targets(ledger, tmp_path)
    rng = np.random.default_rng(0)
    SpyDatabase.reads = 0
    wrong: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        for place in rng.integers(len(pool), size=CALLS):
            target = pool[place]
            arguments = corrupted(target, rng)
            try:
                target.call(**arguments)
            except DPCMDPError as error:
                if not str(error).strip():
                    wrong[f"{_name(target)}: empty message"] += 1
            except Exception as error:
                wrong[f"{_name(target)}{_shown(target, arguments)}: {error!r:.80}"] += 1
            else:
                wrong[f"{_name(target)}{_shown(target, arguments)}: accepted"] += 1
    assert not wrong, "\n".join(f"{count} × {text}" for text, count in wrong.most_common(40))
    assert SpyDatabase.reads == 0
    assert ledger.debits == 0
    assert not list(tmp_path.iterdir())


def _name(target: Target) -> str:
    return getattr(target.call, "__qualname__", repr(target.call))


def _shown(target: Target, arguments: dict[str, Any]) -> str:
    changed = {
        name: value for name, value in arguments.items() if target.good.get(name, NAN) is not value
    }
    return str({name: f"{value!r:.30}" for name, value in changed.items()})


def test_the_good_arguments_are_accepted(tmp_path):
    """Otherwise the fuzz above would prove nothing."""
    for target in targets(SpyLedger(), tmp_path):
        arguments = dict(target.good)
        for name in target.bad:
            if name not in arguments and name == "database":
                arguments[name] = targets(SpyLedger(), tmp_path)[0].good["database"]
        target.call(**arguments)


def test_the_spies_see_a_good_release(tmp_path):
    ledger = SpyLedger()
    SpyDatabase.reads = 0
    good = targets(ledger, tmp_path)[0].good
    release_database(**good)
    assert SpyDatabase.reads > 0
    assert ledger.debits == 1


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
def test_the_debit_comes_before_the_first_read_and_a_refusal_reads_nothing(method, refuses):
    program = small_program()
    database = OrderedDatabase([0.75, 0.625], program.envelope, identity="x")
    ledger = OrderedLedger()
    OrderedLedger.refuses = refuses
    OrderedDatabase.log.clear()
    budget, shares = PrivacyBudget(1, "1/1000"), {"A": "1/3", "b": "1/3", "c": "1/3"}

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
