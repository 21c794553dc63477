"""Envelopes, databases, releases."""

import copy
import logging
import pickle
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dp_cmdp import Database, Envelope, PrivacyBudget, Release, release_database
from dp_cmdp._documents import Document
from dp_cmdp.accounting.ledger import PrivacyLedger
from dp_cmdp.errors import DPCMDPError, InvalidArgumentError, PrivacyLeakError
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.blocks import release_blocks

SECRET = 0.123456789
MARKS = ("0.1234", "123456")


def joined() -> Envelope:
    return Envelope.join(
        {
            "prices": Envelope(0.0, 1.0, radius=0.1, shape=(2, 3)),
            "budgets": Envelope([5.0, 6.0], [10.0, 12.0], radius=[1.0, 2.0]),
        }
    )


def test_groups_keep_their_places():
    envelope = joined()
    assert envelope.index("prices").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert envelope.index("budgets").tolist() == [6, 7]
    assert envelope.radius.tolist() == [0.1] * 6 + [1.0, 2.0]
    assert envelope.record_size == 1


CHANGES = {
    "lower": lambda: Envelope([0.25, 1.0], [3.0, 1.5], radius=0.5),
    "upper": lambda: Envelope([0.0, 1.0], [3.0, 2.0], radius=0.5),
    "radius": lambda: Envelope([0.0, 1.0], [3.0, 1.5], radius=[0.5, 0.25]),
    "records": lambda: Envelope([0.0, 1.0], [3.0, 1.5], radius=0.5, records=[0, 0]),
    "name": lambda: Envelope([0.0, 1.0], [3.0, 1.5], radius=0.5, name="other"),
    "shape": lambda: Envelope([[0.0, 1.0]], [[3.0, 1.5]], radius=0.5),
}


def test_envelopes_that_say_the_same_are_equal_and_hash_alike():
    one, other = (
        Envelope([0.0, 1.0], [3.0, 1.5], radius=0.5),
        Envelope([-0.0, 1.0], [3.0, 1.5], radius=[0.5, 0.5], records=[4, 9]),
    )
    assert one == other
    assert hash(one) == hash(other)
    assert one != "another kind of thing"


@pytest.mark.parametrize("changed", CHANGES)
def test_envelopes_that_differ_in_one_public_fact_are_not_equal(changed):
    one, other = Envelope([0.0, 1.0], [3.0, 1.5], radius=0.5), CHANGES[changed]()
    assert one != other
    with pytest.raises(InvalidArgumentError, match="share one Envelope"):
        ParametricLP(one, c=[1.0]).check_owns(Database(other.lower, other))


def test_the_default_radius_is_the_whole_range():
    assert Envelope([0.0, 1.0], [3.0, 1.5]).radius.tolist() == [3.0, 0.5]


def test_records_may_reach_across_groups():
    parts = {"prices": Envelope(0, 1, shape=(2, 3)), "budgets": Envelope(5, 9, shape=3)}
    envelope = Envelope.join(parts, records={"prices": np.arange(3), "budgets": np.arange(3)})
    assert envelope.record_size == 3


def test_own_records_of_joined_groups_stay_apart():
    parts = {
        "a": Envelope(0, 1, shape=4, records=[0, 0, 1, 1]),
        "b": Envelope(0, 1, shape=2, records=[0, 0]),
    }
    assert Envelope.join(parts).records.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((1.0, 0.0, {}), "lower must be below upper"),
        ((0.0, 0.0, {}), "lower must be below upper"),
        ((np.nan, 1.0, {}), "lower must be finite"),
        ((0.0, np.inf, {}), "upper must be finite"),
        ((0.0, 1.0, {"radius": 0.0}), "radius must be positive"),
        ((0.0, 1.0, {"radius": -1.0}), "radius must be positive"),
        ((0.0, 1.0, {"radius": 1.5}), "radius must not exceed"),
        (([0.0, 0.0], [1.0, 1.0, 1.0], {}), "broadcast"),
        ((0.0, 1.0, {"shape": 2, "records": [0, -1]}), "records must hold integers"),
        ((0.0, 1.0, {"shape": 2, "records": [0, 1, 2]}), "records must broadcast"),
        ((0.0, 1.0, {"shape": 0}), "at least one entry"),
        (("x", 1.0, {}), "lower must be an array"),
    ],
)
def test_bad_envelopes_are_refused_by_name(arguments, named):
    lower, upper, options = arguments
    with pytest.raises(InvalidArgumentError, match=named):
        Envelope(lower, upper, **options)


def test_a_database_shows_no_value(caplog):
    database = Database(np.full(3, SECRET), Envelope(0.0, 1.0, shape=3), identity="clinic")
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("test").warning("database %s %r", database, database)
    for text in (repr(database), str(database), f"{database}", caplog.text):
        assert not any(mark in text for mark in MARKS)
    assert "clinic" in repr(database)


def test_a_database_refuses_to_be_pickled_or_copied():
    database = Database([SECRET], Envelope(0.0, 1.0, shape=1))
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(PrivacyLeakError, match="seed"):
            attempt(database)


@pytest.mark.parametrize(
    "values",
    [
        [SECRET, 1 + SECRET],
        [SECRET, np.nan],
        [SECRET, np.inf],
        [SECRET] * 3,
        [[SECRET, SECRET], [SECRET]],
        ["secret-0.123456", SECRET],
        {"values": [SECRET, 1 + SECRET]},
        {"other": [SECRET, SECRET]},
        {"values": [SECRET, SECRET, SECRET]},
        None,
        SECRET + 5,
        [10**400, SECRET],
        object(),
    ],
)
def test_bad_values_are_refused_without_being_quoted(values):
    with pytest.raises(InvalidArgumentError) as caught:
        Database(values, Envelope(0.0, 1.0, shape=2))
    error: BaseException | None = caught.value
    while error is not None:
        assert not any(mark in str(error) for mark in (*MARKS, "secret"))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_a_release_survives_saving_pickling_and_reading(tmp_path):
    database = Database({"prices": np.full((2, 3), 0.5), "budgets": [7.0, 8.0]}, joined())
    release = release_database(database, PrivacyBudget(1, 0.1), rng=np.random.default_rng(0))
    path = release.save(tmp_path / "release.npz")
    for copied in (Release.load(path), pickle.loads(pickle.dumps(release))):
        assert copied.facts() == release.facts()
        assert copied.lower.tolist() == release.lower.tolist()
        assert copied.estimate.tolist() == release.estimate.tolist()
    assert release.group("prices")["upper"].shape == (2, 3)
    frame = release.to_frame()
    public = ["public_lower", "public_upper", "saturated"]
    assert list(frame.columns) == ["group", "entry", "estimate", "lower", "upper", *public]
    assert len(frame) == 8


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 damaged"])
def test_a_damaged_release_file_is_refused(tmp_path, content):
    path = tmp_path / "release.npz"
    path.write_bytes(content)
    with pytest.raises(DPCMDPError, match=r"damaged|kind"):
        Release.load(path)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"epsilon": "abc"}, "epsilon"),
        ({"epsilon": "1/0"}, "epsilon"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": "1e-999999999"}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"delta": "2"}, "delta"),
        ({"record_size": 0}, "record_size"),
        ({"record_size": "1"}, "record_size"),
        ({"method": "magic"}, "method"),
        ({"method": None}, "method"),
        ({"groups": [["values", [3]]]}, "groups"),
        ({"groups": [["values", [-1, -2]]]}, "groups"),
        ({"groups": [["values", 2]]}, "damaged"),
        ({"groups": "no"}, "damaged"),
        ({"noise": [{"law": "none"}]}, "damaged"),
        ({"secure": "false"}, "secure"),
        ({"leaks": "none"}, "leaks"),
    ],
)
def test_a_release_file_that_cannot_be_true_is_refused(tmp_path, wrong, named):
    database = Database([0.5, 0.5], Envelope(0.0, 1.0, shape=2))
    release = release_database(database, PrivacyBudget(1, 0.1), rng=np.random.default_rng(0))
    made = release.document()
    facts: Any
    for facts in ({**made.facts, **wrong}, []):
        path = Document(made.format, facts, made.arrays).write(tmp_path / "release.npz")
        with pytest.raises(InvalidArgumentError, match=named if facts else "damaged"):
            Release.load(path)


def test_a_missing_release_file_is_refused(tmp_path):
    with pytest.raises(InvalidArgumentError, match="does not exist"):
        Release.load(tmp_path / "nothing.npz")


def test_the_default_radius_is_never_rounded_below_the_range():
    from fractions import Fraction

    rng = np.random.default_rng(0)
    for lo, hi in [(-3.0, 1.8), *rng.uniform(-10, 10, (500, 2)).round(2).tolist()]:
        lower, upper = min(lo, hi), max(lo, hi)
        if lower < upper:
            radius = Envelope([lower], [upper]).radius[0]
            assert Fraction(radius) >= Fraction(upper) - Fraction(lower)
            assert radius <= (upper - lower) * (1 + 1e-15)


# --- databases that are read later -------------------------------------------------------------


def test_a_deferred_database_is_read_once_by_the_release_after_the_debit(tmp_path, small_auction):
    program = small_auction
    values = (program.envelope.lower + program.envelope.upper) / 2
    ledger = PrivacyLedger(tmp_path / "ledger.db")
    ledger.create("x", PrivacyBudget(2, "1/100"), "one person")
    looks = []

    def read():
        looks.append(ledger.spent("x").epsilon)
        return values

    database = Database.deferred(read, program.envelope, identity="x")
    assert looks == []
    budget, rng = PrivacyBudget(1, "1/1000"), np.random.default_rng(0)
    release_database(database, budget, rng=rng, ledger=ledger)
    assert looks == [1]
    again = Database.deferred(read, program.envelope, identity="x")
    alphas = dict.fromkeys("Abc", "1/3")
    release_blocks(again, budget, program=program, alphas=alphas, rng=rng, ledger=ledger)
    assert looks == [1, 2]
    assert database.values is database.values
    with pytest.raises(DPCMDPError):
        release_database(
            Database.deferred(read, program.envelope, identity="x"), budget, ledger=ledger
        )
    assert looks == [1, 2]


def _quoting():
    raise ValueError(f"bad row: {SECRET}")


@pytest.mark.parametrize(
    "read", [_quoting, lambda: [SECRET, 2.0], lambda: [SECRET], lambda: {"v": SECRET}, dict]
)
def test_what_a_deferred_database_cannot_be_is_said_without_a_value(read):
    database = Database.deferred(read, Envelope(0.0, 1.0, shape=2))
    for _ in range(2):
        with pytest.raises(InvalidArgumentError) as caught:
            release_database(database, PrivacyBudget(1, "1/1000"))
        error = caught.value
        shown = f"{error}{error.args}{error.__cause__}{error.__context__}"
        assert not any(mark in shown for mark in MARKS)


def test_a_deferred_database_is_as_closed_as_any_other():
    database = Database.deferred(lambda: [SECRET], Envelope(0.0, 1.0, shape=1), identity="x")
    for _ in range(2):  # before it is read and after
        for act in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(PrivacyLeakError):
                act(database)
        assert repr(database) == "Database(<private>, values[1], identity='x')"
        with pytest.raises(AttributeError):
            setattr(database, "identity", "y")  # noqa: B010
        assert database.values.tolist() == [SECRET]


@pytest.mark.parametrize(
    ("read", "envelope", "identity", "named"),
    [
        ([1.0], Envelope(0.0, 1.0, shape=1), None, "read"),
        (list, None, None, "envelope"),
        (list, Envelope(0.0, 1.0, shape=1), " ", "identity"),
    ],
)
def test_the_public_side_of_a_deferred_database_is_checked_at_once(read, envelope, identity, named):
    with pytest.raises(InvalidArgumentError, match=named):
        Database.deferred(read, envelope, identity=identity)


def test_a_table_is_not_scrambled_into_a_database():
    prices = pd.DataFrame({"price": [0.1, 0.2], "budget": [0.3, 0.4]})
    parts = {name: Envelope(0.0, 1.0, shape=2) for name in ("price", "budget")}
    envelope = Envelope.join(parts)
    with pytest.raises(InvalidArgumentError, match="name its columns"):
        Database(prices, envelope)
    with pytest.raises(InvalidArgumentError, match="one vector, or a mapping"):
        Database(prices.to_numpy(), envelope)
    with pytest.raises(InvalidArgumentError, match="name its columns"):
        Envelope(prices, 1.0)
    named = Database({name: prices[name] for name in parts}, envelope)
    assert named.values.tolist() == [0.1, 0.2, 0.3, 0.4]


def test_the_only_group_may_have_its_own_shape_but_no_other():
    envelope = Envelope(0.0, 1.0, shape=(2, 3))
    values = np.arange(6).reshape(2, 3) / 6
    assert Database(values, envelope).values.tolist() == values.ravel().tolist()
    with pytest.raises(InvalidArgumentError, match=r"got shape \(3, 2\)"):
        Database(values.T, envelope)


# ------------------------------------------------------- values whose own code fails, exact types


class Failing(Mapping):
    """A mapping that quotes its values when one of its methods fails."""

    def __init__(self, where: str, kind: type[BaseException]) -> None:
        self.where, self.kind = where, kind

    def _fail(self, method: str) -> None:
        if method == self.where:
            raise self.kind(f"secret {SECRET}")

    def __getitem__(self, name: str) -> Any:
        self._fail("__getitem__")
        return Quoting(self) if self.where.startswith("value") else [SECRET, SECRET]

    def __iter__(self) -> Iterator[Any]:
        self._fail("__iter__")
        return iter([Key(self)] if self.where.startswith("key") else ["values"])

    def __len__(self) -> int:
        self._fail("__len__")
        return 1


class Key(str):
    def __new__(cls, owner: Failing) -> "Key":
        made = super().__new__(cls, "values")
        made.owner = owner
        return made

    owner: Failing

    def __hash__(self) -> int:
        self.owner._fail("key __hash__")
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        self.owner._fail("key __eq__")
        return super().__eq__(other)


class Quoting:
    def __init__(self, owner: Failing) -> None:
        self.owner = owner

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        self.owner._fail("value __array__")
        return np.array([SECRET, SECRET])

    def __len__(self) -> int:
        self.owner._fail("value __len__")
        return 2


FAILING = ["__getitem__", "__iter__", "key __hash__", "key __eq__", "value __array__"]


@pytest.mark.parametrize("kind", [KeyError, ValueError, InvalidArgumentError, RuntimeError])
@pytest.mark.parametrize("where", FAILING)
def test_what_the_callers_own_mapping_raises_is_replaced_without_a_trace(where, kind):
    envelope = Envelope(0.0, 1.0, shape=2)
    assert Database(Failing("", kind), envelope).values.tolist() == [SECRET, SECRET]
    for make in (
        lambda: Database(Failing(where, kind), envelope),
        lambda: Database.deferred(lambda: Failing(where, kind), envelope).values,
    ):
        with pytest.raises(InvalidArgumentError) as caught:
            make()
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        assert not any(mark in repr(caught.value.args) for mark in (*MARKS, "secret"))


BOOLEANS = [[True, False], np.array([True, False]), [0.5, True], [np.bool_(True), 0.5]]
BOOLEANS += [pd.Series([True, False]), {"values": [True, 0.5]}, np.array([0.5, True], dtype=object)]


@pytest.mark.parametrize("values", BOOLEANS, ids=str)
def test_truth_values_are_no_private_numbers(values):
    with pytest.raises(InvalidArgumentError, match="no booleans"):
        Database(values, Envelope(0.0, 1.0, shape=2))


def test_what_is_wrong_with_deferred_values_is_not_told():
    envelope = Envelope(0.0, 1.0, shape=2)
    wrong = [[SECRET], [5.0, SECRET], ["x", SECRET], [True, SECRET], {"a": SECRET}, None]

    def missing():
        raise FileNotFoundError("secret")

    texts = set()
    for read in (*(lambda values=values: values for values in wrong), missing):
        with pytest.raises(InvalidArgumentError) as caught:
            _ = Database.deferred(read, envelope).values
        assert caught.value.__cause__ is caught.value.__context__ is None
        texts.add(str(caught.value))
    assert len(texts) == 1


THIRD = Fraction(1, 3)
LARGE = 2**53 + 1
#: Numbers that are no floats, in every way in which they can be given.
EXACT = {
    "a fraction": THIRD,
    "a fraction of the other rounding": Fraction(2, 3),
    "a negative fraction": -THIRD,
    "a decimal": Decimal("0.1"),
    "a large integer": LARGE,
    "a large negative integer": -LARGE,
    "a huge integer": 10**200 + 1,
    "an integer of numpy": np.int64(LARGE),
    "an unsigned integer": np.uint64(2**64 - 1),
    "a long double": np.longdouble(1) / 3,
    "a tiny fraction": Fraction(1, 10**400),
}


def as_fraction(number: Any) -> Fraction:
    whole = isinstance(number, np.integer)
    return Fraction(int(number)) if whole else Fraction(*number.as_integer_ratio())


@pytest.mark.parametrize("name", EXACT)
def test_bounds_of_exact_type_are_rounded_outwards_and_radii_up(name):
    number = EXACT[name]
    exactly = as_fraction(number)
    for given in (number, [number], np.array([number]), [number, 0.5], [[number], [7]]):
        high = Envelope(-1e300, given)
        low = Envelope(given, 1e300)
        assert Fraction(low.lower[0]) <= exactly <= Fraction(high.upper[0])
        assert np.nextafter(low.lower[0], np.inf) > exactly
        assert np.nextafter(high.upper[0], -np.inf) < exactly
        assert (low.lower[1:] == high.upper[1:]).all()
        if exactly > 0:
            radius = Envelope(-1e300, 1e300, radius=given).radius
            assert radius[0] == high.upper[0]


def test_floats_are_bounds_as_they_are():
    numbers = np.array([0.1, 1 / 3, 5e-324, 1e300])
    for given in (numbers, numbers.tolist(), tuple(numbers), pd.Series(numbers)):
        envelope = Envelope(given, 1.5e300)
        assert envelope.lower.tolist() == numbers.tolist()


def test_a_private_number_of_exact_type_is_its_nearest_float_and_inside_the_bounds_it_meets():
    numbers: list[Any] = [THIRD, Fraction(33, 40), Decimal("0.7"), Fraction(2, 3), LARGE]
    for number in numbers:
        envelope = Envelope([0], [number])
        assert Database([number], envelope).values.tolist() == [float(number)]
        assert Database([number], Envelope([number], [1e20])).values.tolist() == [float(number)]


def test_named_values_go_to_the_places_of_their_groups_in_whatever_order_they_are_named():
    envelope = Envelope.join({"a": Envelope(0.0, 1.0, shape=2), "b": Envelope(0.0, 1.0, shape=2)})
    database = Database({"b": [0.3, 0.4], "a": [0.1, 0.2]}, envelope)
    assert database.values.tolist() == [0.1, 0.2, 0.3, 0.4]
