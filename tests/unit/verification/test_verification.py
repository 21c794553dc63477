"""What public files prove: a real demo's pass, and every edited one is refused.

Edits are built from the structure of the files: every fact, and one number of every array, is
changed, alone. Each edited release is written again *with* a fitting digest, and the policy made to
name it, so that only what the numbers mean can give it away.
"""

import copy
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dp_cmdp import (
    Database,
    Envelope,
    ParametricLP,
    Policy,
    PrivacyBudget,
    PrivacyLedger,
    Release,
    Solution,
    release_blocks,
    release_database,
    solve_private,
)
from dp_cmdp._documents import Document, Origin
from dp_cmdp.baselines import METHODS
from dp_cmdp.cli import main
from dp_cmdp.cmdp.policy import PolicyFile
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.release import Guarantee
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.entrywise import entrywise
from dp_cmdp.program.solution_file import SolutionFile
from dp_cmdp.release.looks import release_looks
from dp_cmdp.release.plan import Plan
from dp_cmdp.verification.claims import release_claims
from dp_cmdp.verification.files import verify

ROOT = Path(__file__).parents[3]
BUDGET = PrivacyBudget(1, "1/1000")
THIRDS = {"A": "1/3", "b": "1/3", "c": "1/3"}
INTERVAL = ("estimate", "lower", "upper")


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    """What ``make demo`` writes."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, ROOT / "examples" / "hazard_grid.py", "--episodes", "2"]
    subprocess.run([*command, "--out", folder], check=True, capture_output=True, cwd=ROOT)
    return folder


def auction(records: bool = False) -> ParametricLP:
    labels = {"prices": [[0, 1], [0, 1], [5, 1]], "budgets": [0, 1]} if records else None
    envelope = Envelope.join(
        {
            "prices": Envelope(0.0, 1.0, radius=0.1, shape=(3, 2)),
            "budgets": Envelope(5.0, 8.0, radius=[0.3, 0.7], shape=2),
        },
        records=labels,
    )
    price = envelope.index("prices")
    x = np.arange(6).reshape(3, 2)
    return ParametricLP(
        envelope,
        c=Affine(6, at=x, entry=price),
        A=Affine((2, 6), at=(np.tile([0, 1], (3, 1)), x), entry=price, coefficient=1.3),
        b=Affine(2, at=[0, 1], entry=envelope.index("budgets"), coefficient=[1.0, 0.7]),
        A_ub=np.kron(np.eye(3), np.ones(2)),
        b_ub=np.full(3, 4.0),
    )


def database_of(program: ParametricLP, **options) -> Database:
    lower, upper = program.envelope.lower, program.envelope.upper
    return Database(lower + 0.37 * (upper - lower), program.envelope, **options)


def released(kind: str, *, ledger: PrivacyLedger | None = None) -> tuple[ParametricLP, Release]:
    """A release of each kind that the library makes; the last word says how."""
    program = auction(records="records" in kind)
    database = database_of(program, identity="auction")
    rng = np.random.default_rng(0) if "float" in kind else None
    options: dict[str, Any] = {"calibration": kind.split()[1], "rng": rng, "ledger": ledger}
    if kind.startswith("database"):
        return program, release_database(database, BUDGET, **options)
    if kind.startswith(("planned", "totals")):
        # so small a program measures totals only when they are thought to cost next to nothing
        plan = Plan("0.35" if kind.startswith("planned") else 0, caution=0.02)
        for _ in range(50):  # some first looks leave nothing worth measuring
            release = release_looks(database, BUDGET, program=program, plan=plan, **options)
            if release.totals is not None:
                return program, release
        raise AssertionError("no look proposed a total")
    return program, release_blocks(database, BUDGET, program=program, alphas=THIRDS, **options)


EXACT = [
    "database tight",
    "database paper",
    "database optimal",
    "database tight records",
    "blocks paper",
    "blocks tight",
    "blocks tight records",
    "planned tight",
    "planned tight records",
    "planned optimal",
    "totals tight",
    "totals tight records",
]
FLOAT = [
    "database tight float",
    "database optimal float",
    "blocks paper float",
    "planned tight float",
    "totals tight float",
]


# ---------------------------------------------------------------------------- what holds


def test_the_demo_is_proved_from_its_public_files(demo):
    files = [demo / name for name in ("release.npz", "policy.npz", "layout.json")]
    report = verify(*files)
    assert report.passed
    assert {found.file for found in report.findings} == set(map(str, files))
    assert any(found.holds is None for found in report.findings)
    assert verify(*files[:2]).passed  # the layout comes with the package and is found by name


def test_the_command_says_what_is_proved_and_what_is_not(demo, capsys):
    files = [str(demo / name) for name in ("release.npz", "policy.npz", "layout.json")]
    assert main(["verify", *files]) == 0
    shown = capsys.readouterr().out
    words = ("proved", "declared", "not provable", "all that can be proved")
    assert all(word in shown for word in words)
    assert "FAILED" not in shown
    assert main(["verify", *files, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["passed"] is True
    assert {found["outcome"] for found in said["findings"]} == {
        "proved", "declared", "not provable",
    }  # fmt: skip
    words = {found["claim"]: found["outcome"] for found in said["findings"]}
    assert words["the noise is exact"] == words["nothing is published unprotected"] == "declared"
    assert main(["verify", str(demo / "policy.npz")]) == 1
    assert "is not among the files" in " ".join(capsys.readouterr().out.split())
    assert main(["verify", str(demo / "nothing.npz"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["passed"] is False


@pytest.mark.parametrize("method", ["database", "benvenuti2025", "robust"])
def test_what_synthesize_writes_is_proved(tmp_path, capsys, method):
    asked = ["--layout", "corridor", "--epsilon", "2", "--delta", "1e-3", "--method", method]
    assert main(["synthesize", *asked, "--out", str(tmp_path)]) == 0
    files = sorted(tmp_path.glob("*.npz"))
    assert len(files) == (1 if method == "robust" else 2)
    assert main(["verify", *map(str, files)]) == 0
    assert main(["verify", *map(str, files), str(tmp_path / "layout.json")]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("kind", EXACT)
def test_every_exact_release_proves_its_claims_alone_and_so_does_its_solution(tmp_path, kind):
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite")
    ledger.create("auction", PrivacyBudget(5, "1/10"), "one person")
    program, release = released(kind, ledger=ledger)
    assert all(claim.holds for claim in release_claims(release))
    path = release.save(tmp_path / "release.npz")
    assert Release.load(path).document().digest == release.document().digest
    entry = ledger.entries()[-1]
    assert release.ledger is not None
    assert (release.ledger.index, release.ledger.hash) == (entry.index, entry.hash)
    ledger.verify(f"{release.ledger.index}:{release.ledger.hash}")
    assert verify(path).passed
    solved = tmp_path / "solution.npz"
    solve_private(program, release).save(solved, release=release, program=program)
    report = verify(path, solved, program.save(tmp_path / "program.npz"))
    assert report.passed, [found for found in report.findings if found.holds is False]


@pytest.mark.parametrize("kind", FLOAT)
def test_a_simulation_is_read_but_not_proved_private(tmp_path, kind):
    _, release = released(kind)
    path = release.save(tmp_path / "release.npz")
    assert Release.load(path).secure is False
    failed = [found.claim for found in verify(path).findings if found.holds is False]
    assert failed == ["the noise is exact"]


def test_a_release_that_leaks_is_read_and_fails(tmp_path):
    program = auction()
    leaking: list[dict[str, Any]] = [{"allow_leak": True}, {"realised_mask_NOT_PRIVATE": True}]
    for options in leaking:
        alphas = {"A": "1/2", "b": "1/2"} if "allow_leak" in options else THIRDS
        release = release_blocks(
            database_of(program), BUDGET, program=program, alphas=alphas, **options
        )
        path = release.save(tmp_path / "release.npz")
        assert Release.load(path).leaks == release.leaks
        failed = [found.claim for found in verify(path).findings if found.holds is False]
        assert failed == ["nothing is published unprotected"]


def test_a_release_without_data_must_be_the_envelope_itself(tmp_path):
    program = auction()
    rng = np.random.default_rng(0)
    release = METHODS["robust"].solver(program, database_of(program), BUDGET, rng=rng).release
    assert release is not None
    assert verify(release.save(tmp_path / "release.npz")).passed
    narrower = replace(release, upper=np.nextafter(release.upper, 0))
    assert not verify(narrower.save(tmp_path / "release.npz")).passed


def test_a_release_that_does_not_carry_its_envelope_cannot_be_saved(tmp_path):
    _, release = released("database tight")
    with pytest.raises(InvalidArgumentError, match="envelope"):
        replace(release, envelope=None).save(tmp_path / "release.npz")


def test_only_untruncated_noise_leaves_its_delta_unspent(tmp_path):
    envelope = Envelope(0.0, 1.0, shape=2)
    program = ParametricLP(
        envelope, c=Affine(2, at=[0, 1], entry=[0, 1]), A_ub=[[1.0, 1.0]], b_ub=[1.0]
    )
    database = Database([0.25, 0.5], envelope)
    release = release_blocks(database, BUDGET, program=program, alphas={"c": 1})
    assert verify(release.save(tmp_path / "release.npz")).passed


def test_certainty_without_room_is_proved_in_fractions(tmp_path):
    """A policy whose cost is its tolerance exactly: only rational arithmetic can tell."""
    from dp_cmdp import CMDP
    from dp_cmdp.cmdp.parametric import ParametricCMDP

    public = CMDP(
        np.ones((1, 1, 1)), np.ones((1, 1)), f=np.zeros((1, 1)), f0=[1.0], mu=[1.0], gamma=0.9
    )
    model = ParametricCMDP.for_states(
        public, [0], severity=Envelope([0.0], [0.3]), tolerance=Envelope([4.0], [5.0])
    )
    path = tmp_path / "policy.npz"
    Policy([[1.0]]).save(path, model=model)
    assert verify(path, model.save(tmp_path / "model.npz")).passed


# ---------------------------------------------------------------------------- edits of facts


def leaves(content: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield from leaves(value, (*path, key))
    elif isinstance(content, list) and content and path[-1] != "thresholds":
        yield path, content
        for place, value in enumerate(content):
            yield from leaves(value, (*path, place))
    else:
        yield path, content


def others(path: tuple, value: Any) -> Iterator[Any]:
    """Other values that a fact might be given."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1, str(value))
    elif isinstance(value, float):
        yield from (np.nextafter(value, 9e9), np.nextafter(value, -9e9))
    elif value is None:
        yield from (1, "x")
    elif isinstance(value, list):
        yield from (value[:-1], value + value[:1], [])
    elif path[-1] in ("epsilon", "delta", "entries", "ratio", "outer_mass"):
        number = Fraction(value)
        yield from (str(number * Fraction(999, 1000)), str(number + 1), str(-number or -1))
        yield from other_texts(number, value)
    else:
        yield from (value + "x", "", None)


def other_texts(number: Fraction, text: str) -> list[str]:
    """The same number, written in other ways."""
    top, bottom = number.as_integer_ratio()
    ways = (f"{2 * top}/{2 * bottom}", f"{top}/{bottom}", f" {text}", f"+{text}", f"0{text}")
    return [way for way in ways if way != text]


#: How totals were proposed: post-processing, on which no claim rests.
PROPOSED = {("plan", "caution"), ("plan", "lift")}
#: Facts that nothing else in the file follows from: only a noted digest, a ledger or the program
#: sees them change. (A simulation may draw optimal noise; an upper bound may be stated larger.)
FREE = {
    "database tight records": {("version",), ("ledger",)},
    "database optimal": {("version",), ("ledger",), ("secure",)},
    "blocks paper": {
        ("version",),
        ("ledger",),
        ("envelope", "groups", 0, 0),
        ("envelope", "groups", 1, 0),
    },
    "planned tight records": {("version",), ("ledger",), *PROPOSED},
    "totals tight": {("version",), ("ledger",), ("secure",), *PROPOSED},
}


def edited_facts(facts: dict[str, Any]) -> Iterator[tuple[tuple, Any]]:
    for path, value in leaves(facts):
        for other in others(path, value):
            if other == value and type(other) is type(value):
                continue
            changed = copy.deepcopy(facts)
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = other
            yield path, changed


def is_read(made: Document, path: Path) -> bool:
    made.write(path)
    try:
        Release.load(path)
    except InvalidArgumentError:
        return False
    return True


@pytest.mark.parametrize("kind", list(FREE))
def test_a_release_file_with_any_one_fact_changed_is_refused(tmp_path, kind):
    made = released(kind)[1].document()
    assert is_read(made, tmp_path / "release.npz")
    tried, read = 0, set()
    for place, facts in edited_facts(json.loads(json.dumps(made.facts))):
        tried += 1
        if is_read(Document(made.format, facts, made.arrays), tmp_path / "release.npz"):
            read.add(place)
    assert tried > 60
    assert {place for place in read if place[-1] != "outer_mass"} <= FREE[kind]


def test_numbers_of_a_certificate_are_written_in_one_way(tmp_path):
    made = released("database tight")[1].document()
    facts = json.loads(json.dumps(made.facts))
    proof = facts["noise"][0]["certificate"]
    honest = dict(proof)
    first, *rest = honest["thresholds"]
    edits = [
        {name: text}
        for name in ("epsilon", "delta", "entries", "ratio", "outer_mass")
        for text in other_texts(Fraction(honest[name]), honest[name])
    ]
    edits += [{"thresholds": [text, *rest]} for text in (f"0{first}", first.upper(), f"0x{first}")]
    edits = [edit for edit in edits if edit != {"thresholds": honest["thresholds"]}]
    for edit in edits:
        proof.update({**honest, **edit})
        assert not is_read(Document(made.format, facts, made.arrays), tmp_path / "release.npz")


def test_facts_left_out_or_added_are_refused(tmp_path):
    made = released("database tight")[1].document()
    path = tmp_path / "release.npz"
    for key in made.facts:
        facts = {name: value for name, value in made.facts.items() if name != key}
        Document(made.format, facts, made.arrays).write(path)
        with pytest.raises(InvalidArgumentError, match=r"release\.npz"):
            Release.load(path)
    Document(made.format, {**made.facts, "more": 1}, made.arrays).write(path)
    with pytest.raises(InvalidArgumentError, match=r"release\.npz"):
        Release.load(path)


# ---------------------------------------------------------------------------- edits of numbers


def edited_arrays(made: Document, names: list[str]) -> Iterator[tuple[str, Document]]:
    """One number of an array moved up or down: by a hair, by a lattice step, by a lot."""
    for name in names:
        array = made.arrays[name]
        places = settled(made) if name in INTERVAL else np.arange(array.size)
        for place in places[[0, -1]]:
            for other in moved(array.flat[place], made.arrays["step"].flat[0]):
                changed = np.array(array)
                changed.flat[place] = other
                yield name, Document(made.format, made.facts, {**made.arrays, name: changed})


def settled(made: Document) -> np.ndarray:
    """Entries of which two numbers were not cut: each of them tells what the other must be."""
    if made.facts["method"] == "blocks":
        return np.arange(made.arrays["estimate"].size)
    low, high = made.arrays["envelope.lower"], made.arrays["envelope.upper"]
    inside = [(low < made.arrays[name]) & (made.arrays[name] < high) for name in INTERVAL]
    return np.flatnonzero(inside[0] & (inside[1] | inside[2]))


def moved(value: Any, step: float) -> list[Any]:
    if isinstance(value, np.integer):
        return [value + 1, value - 1, value + 1000]
    return [
        np.nextafter(value, np.inf),
        np.nextafter(value, -np.inf),
        value + step,
        value - step,
        2 * value + 0.25,
        0.5 * value - 0.25,
        np.nan,
    ]


def retold(demo: Path, tmp_path: Path, made: Document) -> list[Path]:
    """The demo with another release, which the policy is made to name."""
    files = [tmp_path / name for name in ("release.npz", "policy.npz", "layout.json")]
    made.write(files[0])
    policy = PolicyFile.load(demo / "policy.npz")
    PolicyFile(policy.policy, replace(policy.origin, release=made.digest)).document().write(
        files[1]
    )
    files[2].write_bytes((demo / "layout.json").read_bytes())
    return files


def test_a_demo_with_any_one_number_of_its_release_moved_is_refused(demo, tmp_path):
    made = Release.load(demo / "release.npz").document()
    assert verify(*retold(demo, tmp_path, made)).passed
    names = sorted(made.arrays)
    assert len(names) == 9
    tried = 0
    for name, changed in edited_arrays(made, names):
        tried += 1
        assert not verify(*retold(demo, tmp_path, changed)).passed, name
    assert tried > 80


def test_a_blocks_release_with_any_number_of_its_entries_moved_is_refused(tmp_path):
    made = released("blocks tight records")[1].document()
    path = tmp_path / "release.npz"
    for name, changed in edited_arrays(made, ["lower", "upper"]):
        changed.write(path)
        with pytest.raises(InvalidArgumentError, match=r"no draw|interval|finite|lower must"):
            Release.load(path)
        assert name in ("lower", "upper")


def test_blocks_that_move_more_than_is_certified_are_refused(tmp_path):
    """Coefficients, radii, labels or steps by which one record moves more integers."""
    made = released("blocks tight records")[1].document()
    path = tmp_path / "release.npz"
    joined = np.zeros_like(made.arrays["envelope.records"])
    for name, other in (
        ("blocks.A.coefficient", made.arrays["blocks.A.coefficient"] * 1.01),
        ("blocks.b.coefficient", -made.arrays["blocks.b.coefficient"] * 1.01),
        ("envelope.radius", made.arrays["envelope.radius"] * 1.01),
        ("envelope.records", joined),
        ("step", made.arrays["step"] * 0.99),
    ):
        facts = dict(made.facts)
        if name == "envelope.records":
            whole = Guarantee(Fraction(1), Fraction(1, 1000), joined.size)
            facts |= {"record_size": joined.size, "adjacency": whole.adjacency}
        Document(made.format, facts, {**made.arrays, name: other}).write(path)
        with pytest.raises(InvalidArgumentError, match="certified are"):
            Release.load(path)


def test_an_honest_looking_smaller_promise_is_refused(demo, tmp_path):
    """Consistent edits that make the release look more private than its noise is."""
    release = Release.load(demo / "release.npz")
    smaller = replace(release.guarantee, epsilon=Fraction(1))
    told = tuple(replace(part, epsilon=Fraction(1)) for part in release.noise)
    proofs = tuple(
        replace(part, certificate={**dict(part.certificate or {}), "epsilon": "1"}) for part in told
    )
    edits = [
        replace(release, guarantee=smaller),
        replace(release, guarantee=smaller, noise=told),
        replace(release, guarantee=smaller, noise=proofs),
        replace(release, guarantee=replace(release.guarantee, delta=Fraction(1, 10**6))),
        replace(release, step=release.step / 2),
        replace(release, noise=()),
        replace(release, secure=False),
        replace(release, leaks=("block b unprotected",)),
    ]
    for edited in edits:
        assert not verify(*retold(demo, tmp_path, edited.document())).passed


# ---------------------------------------------------------------------------- swapped, broken


def test_swapped_stripped_and_broken_files_are_refused(demo, tmp_path):
    release, policy, layout = (demo / name for name in ("release.npz", "policy.npz", "layout.json"))
    read = PolicyFile.load(policy)
    other = tmp_path / "other.npz"
    again = tmp_path / "again.npz"
    origin, shape = read.origin, read.policy.probs.shape
    unsafe = PolicyFile(Policy.uniform(*shape), origin).document().write(tmp_path / "unsafe.npz")
    forged = {
        "another policy of the same shape": [release, unsafe, layout],
        "a policy without its release": [policy, layout],
        "a policy that names no program": [
            release,
            PolicyFile(read.policy, replace(origin, program=None)).document().write(other),
            layout,
        ],
        "a policy that names another release": [
            release,
            PolicyFile(read.policy, replace(origin, release="0" * 64)).document().write(again),
            layout,
        ],
    }
    for name, files in forged.items():
        assert not verify(*files).passed, name
    content = json.loads(layout.read_text())
    for key, value in (("slip", 0.3), ("gamma", 0.9), ("goal_reward", 1.0), ("name", "elsewhere")):
        changed = tmp_path / "layout.json"
        changed.write_text(json.dumps(content | {key: value}))
        renamed = PolicyFile(read.policy, replace(origin, name="elsewhere")).document()
        assert verify(release, renamed.write(other), changed).passed is (key == "name")
    damage(release, policy, layout, tmp_path)


def damage(release: Path, policy: Path, layout: Path, folder: Path) -> None:
    broken = folder / "broken.npz"
    content = release.read_bytes()
    for part in (content[: len(content) // 2], content[:-1], b"", b"PK\x05\x06" + bytes(18)):
        broken.write_bytes(part)
        assert not verify(broken, policy, layout).passed
    for extra in ("more.npy", "estimate.npy", "../estimate.npy", "readme.txt"):
        broken.write_bytes(content)
        with zipfile.ZipFile(broken, "a") as archive:
            if extra == "estimate.npy":
                with pytest.warns(UserWarning, match="Duplicate"):
                    archive.writestr(extra, archive.read("estimate.npy"))
            else:
                archive.writestr(extra, archive.read("estimate.npy"))
        assert not verify(broken, policy, layout).passed
    made = Release.load(release).document()
    for format in ("dp_cmdp.Release/2", "dp_cmdp.Release/4", "dp_cmdp.CMDP/2"):
        Document(format, made.facts, made.arrays).write(broken)
        assert not verify(broken, policy, layout).passed
    broken.write_bytes(content.replace(b"digest", b"digesT"))
    assert not verify(broken, policy, layout).passed


def test_a_digest_that_was_not_computed_anew_gives_an_edit_away(tmp_path):
    _, release = released("database tight")
    path = release.save(tmp_path / "release.npz")
    with np.load(path) as archive:
        members = {name: archive[name] for name in archive.files}
    facts = json.loads(members["facts"].tobytes())
    facts["version"] = "9.9"
    members["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    np.savez(path, **members)
    with pytest.raises(InvalidArgumentError, match="digest"):
        Release.load(path)


def test_a_file_invented_as_a_whole_is_not_seen_and_the_report_says_so(tmp_path):
    """The limit of what files can prove: another version, another ledger, data never drawn."""
    _, release = released("database tight")
    path = replace(release, version="9.9").save(tmp_path / "release.npz")
    report = verify(path)
    assert report.passed
    unproved = " ".join(found.claim for found in report.findings if found.holds is None)
    assert all(word in unproved for word in ("drawn", "envelope", "ledger"))


@pytest.mark.parametrize("kind", ["database tight", "blocks tight"])
def test_edited_solutions_and_foreign_programs_are_refused(tmp_path, kind):
    program, release = released(kind)
    solution = solve_private(program, release)
    files = [release.save(tmp_path / "release.npz"), program.save(tmp_path / "program.npz")]
    origin = Origin.of(release, program, "auction")
    proof = solution.certificate
    assert proof is not None

    def judged(answer: Solution, origin: Origin = origin) -> bool:
        made = SolutionFile(answer, origin).document().write(tmp_path / "solution.npz")
        return verify(*files, made).passed

    assert judged(solution)
    for x in (1.01 * solution.x, 0.99 * solution.x, solution.x + 0.5, solution.x[::-1]):
        assert not judged(replace(solution, x=x))
    assert not judged(replace(solution, x=solution.x[:-1]))
    assert not judged(replace(solution, objective=solution.objective * 1.001))
    assert not judged(replace(solution, certificate=None))
    assert not judged(replace(solution, certificate=replace(proof, verified=False)))
    assert not judged(replace(solution, certificate=replace(proof, worst_slack=1.0)))
    assert not judged(solution, replace(origin, program="0" * 64))
    assert not judged(solution, replace(origin, release="0" * 64))
    assert not judged(solution, replace(origin, release=None))
    other = ParametricLP(
        program.envelope,
        c=program.c,
        A=program.A,
        b=program.b,
        A_ub=program.A_ub,
        b_ub=program.b_ub / 2,
    )
    files[1] = other.save(tmp_path / "program.npz")
    assert not judged(solution)
    assert not judged(solution, replace(origin, program=other.document().digest))


def test_a_release_of_another_envelope_or_other_blocks_is_refused(tmp_path):
    program, release = released("blocks tight")
    narrow = replace(release, envelope=Envelope(0.0, 9.0, shape=8))
    wide = ParametricLP(
        program.envelope,
        c=program.c,
        A=Affine(program.A.shape, at=(program.A.row, program.A.col), entry=program.A.entry[::-1]),
        b=program.b,
        A_ub=program.A_ub,
        b_ub=program.b_ub,
    )
    solution = solve_private(program, release)
    path = SolutionFile(solution, Origin.of(release, wide, "")).document().write(tmp_path / "s.npz")
    report = verify(release.save(tmp_path / "r.npz"), wide.save(tmp_path / "p.npz"), path)
    failed = [found.why for found in report.findings if found.holds is False]
    assert failed == ["its release is of another envelope or other blocks than its program"]
    assert not verify(narrow.save(tmp_path / "r.npz")).passed


def test_a_policy_does_not_belong_to_a_linear_program_nor_a_model_file_to_nothing(tmp_path):
    program = auction()
    path = tmp_path / "policy.npz"
    PolicyFile(Policy.uniform(2, 2), Origin.of(None, program, "")).document().write(path)
    report = verify(path, program.save(tmp_path / "program.npz"))
    assert "not to a linear program" in report.findings[-1].why
    cmdp = tmp_path / "cmdp.npz"
    Document("dp_cmdp.CMDP/2", {}, {}).write(cmdp)
    assert not verify(cmdp).passed
    with pytest.raises(InvalidArgumentError, match="at least one"):
        verify()


def test_the_entries_of_a_blocks_release_have_the_bounds_of_the_entrywise_program():
    from dp_cmdp.verification.parts import entry_bounds

    program, release = released("blocks tight records")
    lower, upper = entry_bounds(release)
    target = entrywise(program).envelope
    assert np.array_equal(lower, target.lower)
    assert np.array_equal(upper, target.upper)
