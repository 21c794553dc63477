"""Public files: judged before they are read, whatever they hold; sparse matrices at the door."""

import contextlib
import json
import time
import tracemalloc
import warnings
import zipfile
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp import (
    CMDP,
    Database,
    Envelope,
    LinearProgram,
    Policy,
    PrivacyBudget,
    _check,
    release_database,
)
from dp_cmdp._documents import FLOOR_BYTES, LARGEST_RATIO, Document, format_of, read_document
from dp_cmdp._storage import parse_json
from dp_cmdp.cmdp.model import FORMAT as CMDP_FORMAT
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.policy import FORMAT as POLICY_FORMAT
from dp_cmdp.data.affine import Affine
from dp_cmdp.envs.catalogue import named_layout
from dp_cmdp.envs.hazards import Hazards
from dp_cmdp.envs.layout_files import load_layout
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.noise.certificate import NoiseCertificate
from dp_cmdp.noise.optimal import OptimalNoise
from dp_cmdp.noise.truncated import LatticeTruncatedLaplace
from dp_cmdp.program.linear_program import solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.theory.feasible_set import coordinate_ranges

ORIGIN = {"origin": {"release": None, "program": None, "name": ""}}


def npy(shape, *, descr="<f8", fortran="False", content=b"") -> bytes:
    """An array member whose header says whatever it is told."""
    header = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


def text_member(text: str) -> bytes:
    content = text.encode()
    return npy(f"({len(content)},)", descr="|u1", content=content)


def forge(path, format, *, facts="{}", members=(), digest="0" * 64):
    """A zip file with members as given, name by name, twice if named twice."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (
            ("format", text_member(format)),
            ("facts", text_member(facts)),
            ("digest", text_member(digest)),
            *members,
        ):
            archive.writestr(f"{name}.npy", content)
    return path


def small_cmdp() -> CMDP:
    T = np.zeros((3, 2, 3))
    T[:, 0, 0] = T[:, 1, 2] = 1.0
    return CMDP(T, np.ones((3, 2)), f=np.ones((3, 2)), f0=[9.0], mu=[1, 0, 0], gamma=0.5)


# ---------------------------------------------------------------------------- sizes and headers


def test_a_small_file_that_would_unpack_to_a_large_one_is_refused_unread(tmp_path):
    rows = 1 << 24  # 128 MB of zeros in some 130 kB
    path = forge(
        tmp_path / "bomb.npz",
        POLICY_FORMAT,
        members=[("probs", npy(f"({rows}, 1)", content=bytes(8 * rows)))],
    )
    assert path.stat().st_size < 8 * rows / LARGEST_RATIO
    for read in (Policy.load, lambda file: read_document(file, POLICY_FORMAT, arrays=["probs"])):
        tracemalloc.start()
        with pytest.raises(InvalidArgumentError, match="unpack"):
            read(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < FLOOR_BYTES


def test_an_unexpected_member_is_refused_however_large_it_says_it_is(tmp_path):
    path = tmp_path / "policy.npz"
    Policy.uniform(2, 2).save(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more.npy", npy("(4,)", content=bytes(32)))
    with pytest.raises(InvalidArgumentError, match="more"):
        Policy.load(path)


def test_a_member_twice_is_refused(tmp_path):
    path = tmp_path / "policy.npz"
    Policy.uniform(2, 2).save(path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("probs.npy", npy("(2, 2)", content=np.eye(2).tobytes()))
    with pytest.raises(InvalidArgumentError, match="twice"):
        Policy.load(path)


@pytest.mark.parametrize(
    "member",
    [
        npy("(1099511627776, 2)", content=bytes(32)),  # says 16 TB, holds 32 bytes
        npy("(2, 2)", content=bytes(64)),  # says 32 bytes, holds 64
        npy("(2, 2)", content=bytes(8)),
        npy("(-2, -2)", content=bytes(32)),
        npy("(2, 2)", descr="|O", content=bytes(32)),
        npy("(2, 2)", descr="<f4", content=bytes(16)),
        npy("(2, 2)", descr=">f8", content=bytes(32)),
        npy("(2, 2)", descr="<c16", content=bytes(64)),
        npy("(2, 2)", descr="<U1", content=bytes(16)),
        npy("(2, 2)", fortran="True", content=bytes(32)),
        npy("(2, 2", content=bytes(32)),
        npy("(2.0, 2)", content=bytes(32)),
        npy("(2, 2)", descr="__import__('os')", content=bytes(32)),
        b"\x93NUMPY\x09\x00",
        b"",
    ],
)
def test_a_header_that_does_not_fit_its_member_is_refused(tmp_path, member):
    path = forge(tmp_path / "policy.npz", POLICY_FORMAT, members=[("probs", member)])
    with pytest.raises(InvalidArgumentError, match="Policy"):
        Policy.load(path)


@pytest.mark.parametrize(
    ("member", "said"),
    [
        (npy("(2, 2)", descr="|O", content=bytes(32)), "plain array of numbers"),
        (npy("(1099511627776, 2)", content=bytes(32)), "its header says"),
        (npy("(2, 2)", content=bytes(8)), "its header says"),
        (npy("(2, 2)", content=bytes(64)), "its header says"),
    ],
)
def test_a_header_is_refused_for_what_it_says_before_its_data_are_read(tmp_path, member, said):
    """That numpy would stumble over the data comes too late: it may allocate them first."""
    path = forge(tmp_path / "policy.npz", POLICY_FORMAT, members=[("probs", member)])
    with pytest.raises(InvalidArgumentError, match=said):
        Policy.load(path)


def test_a_file_that_names_another_format_is_refused_though_its_digest_fits(tmp_path):
    content = np.full((2, 2), 0.5)
    members = [("probs", npy("(2, 2)", content=content.tobytes()))]
    digest = Document(POLICY_FORMAT, ORIGIN, {"probs": content}).digest
    whole = {"facts": json.dumps(ORIGIN), "members": members, "digest": digest}
    assert Policy.load(forge(tmp_path / "policy.npz", POLICY_FORMAT, **whole))
    with pytest.raises(InvalidArgumentError, match=f"says '{CMDP_FORMAT}'"):
        Policy.load(forge(tmp_path / "policy.npz", CMDP_FORMAT, **whole))


def test_content_that_would_be_written_in_another_way_is_refused_though_its_digest_fits(tmp_path):
    """Probabilities 0 and 1 as integers are the same policy, under another digest."""
    path = Document(POLICY_FORMAT, ORIGIN, {"probs": np.eye(2)}).write(tmp_path / "policy.npz")
    assert Policy.load(path) == Policy(np.eye(2))
    Document(POLICY_FORMAT, ORIGIN, {"probs": np.eye(2, dtype=np.int64)}).write(path)
    with pytest.raises(InvalidArgumentError, match="would be written"):
        Policy.load(path)


@pytest.mark.parametrize("size", [FLOOR_BYTES // 4, FLOOR_BYTES // 8 + 1])
def test_what_compresses_too_well_is_written_so_that_it_can_be_read(tmp_path, size):
    made = Document("test", {}, {"zeros": np.zeros(size)})
    path = made.write(tmp_path / "zeros.npz")
    assert read_document(path, "test", arrays=["zeros"]).digest == made.digest


def test_a_format_is_told_without_reading_the_rest(tmp_path):
    path = tmp_path / "x.npz"
    Policy.uniform(2, 2).save(path)
    assert format_of(path) == POLICY_FORMAT
    path.write_bytes(b"PK\x03\x04")
    assert format_of(path) is None
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("format.npy", npy("(8388608,)", descr="|u1", content=bytes(1 << 23)))
    with pytest.raises(InvalidArgumentError, match="too long"):
        format_of(path)


def test_a_digest_is_of_the_content_and_sees_every_part_of_it():
    made = Document("a", {"k": 1}, {"x": np.arange(3.0), "y": np.arange(2)})
    assert made.digest == Document("a", {"k": 1}, {"y": np.arange(2), "x": np.arange(3.0)}).digest
    others = [
        Document("b", made.facts, made.arrays),
        Document("a", {"k": 2}, made.arrays),
        Document("a", made.facts, {"x": np.arange(3.0)}),
        Document("a", made.facts, {"z": np.arange(3.0), "y": np.arange(2)}),
        Document("a", made.facts, {"x": np.arange(3), "y": np.arange(2)}),
        Document("a", made.facts, {"x": np.arange(3.0)[None], "y": np.arange(2)}),
        Document(
            "a", made.facts, {"x": np.array([0.0, 1.0, 2.0000000000000004]), "y": np.arange(2)}
        ),
    ]
    assert len({made.digest, *(other.digest for other in others)}) == 1 + len(others)


# ---------------------------------------------------------------------------- facts


@pytest.mark.parametrize(
    "facts",
    [
        "[" * 200_000 + "]" * 200_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        '{"origin": ' + "9" * 5000 + "}",
        '{"origin": NaN}',
        '{"origin": Infinity}',
        '{"origin": 1, "origin": 2}',
        "{",
        "",
        "\\ud800",
        "[]",
        "null",
        '{"origin": []}',
        '{"origin": {"release": "abc", "program": null, "name": ""}}',
        '{"origin": {"release": null, "program": null, "name": 5}}',
        '{"origin": {"release": null, "program": null, "name": "", "more": 1}}',
    ],
)
def test_facts_that_are_no_facts_are_refused_in_a_moment(tmp_path, facts):
    path = tmp_path / "policy.npz"
    members = [("probs", npy("(2, 2)", content=np.full(4, 0.5).tobytes()))]
    try:
        digest = Document(POLICY_FORMAT, json.loads(facts), {"probs": np.full((2, 2), 0.5)}).digest
    except (ValueError, RecursionError):
        digest = "0" * 64
    start = time.perf_counter()
    with pytest.raises(InvalidArgumentError):
        Policy.load(forge(path, POLICY_FORMAT, facts=facts, members=members, digest=digest))
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", "1" * 5000, "1/" + "3" * 5000])
@pytest.mark.parametrize("field", ["epsilon", "delta", "entries", "ratio", "outer_mass"])
def test_astronomical_numbers_in_a_certificate_are_refused_in_a_moment(field, number):
    record = json.loads(
        LatticeTruncatedLaplace.calibrate(1, "1/1000", steps=4).certificate.to_json()
    )
    start = time.perf_counter()
    with pytest.raises(InvalidArgumentError):
        NoiseCertificate.from_json(json.dumps(record | {field: number}))
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": str(10**300)},
        {"epsilon": "101"},
        {"steps": 10**4000},
        {"steps": 1 << 41},
        {"support": 10**4000},
        {"support": None},
        {"entries": str(10**300)},
        {"thresholds": ["1"] * 5000},
        {"thresholds": []},
        {"cell": 0},
        {"law": "table", "cell": 1, "steps": 1 << 40},
        {"law": "laplace", "thresholds": ["1"] * 5000},
    ],
)
def test_a_certificate_that_would_take_for_ever_proves_nothing_in_a_moment(wrong):
    law = LatticeTruncatedLaplace.calibrate(1, "1/1000", steps=4)
    record = json.loads(law.certificate.to_json()) | wrong
    start = time.perf_counter()
    assert not NoiseCertificate.from_json(json.dumps(record)).check()
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"thresholds": ["f" * 100]},
        {"thresholds": ["1"] * 200_000},
        {"thresholds": 5},
        {"thresholds": [5]},
        {"steps": "4"},
        {"steps": True},
        {"support": 4.0},
        {"law": ["table"]},
        {"epsilon": 1},
        {"more": 1},
    ],
)
def test_a_certificate_of_other_types_is_refused(wrong):
    law = LatticeTruncatedLaplace.calibrate(1, "1/1000", steps=4)
    record = json.loads(law.certificate.to_json()) | wrong
    with pytest.raises(InvalidArgumentError, match="to_json"):
        NoiseCertificate.from_json(json.dumps(record))


def test_every_law_that_is_built_is_within_the_limits_of_its_check():
    for epsilon, delta in ((2, "1e-3"), (20, "1/2")):
        assert OptimalNoise.calibrate(epsilon, delta, steps=1 << 20).certificate.check()
        law = LatticeTruncatedLaplace.calibrate(epsilon, delta, steps=1 << 30, entries=7)
        assert NoiseCertificate.from_json(law.certificate.to_json()) == law.certificate


@pytest.mark.parametrize(
    "text", ["[" * 300_000, '{"format": ' + "9" * 5000 + "}", '{"a": 1, "a": 2}']
)
def test_a_layout_or_hazard_file_that_is_no_sound_json_is_refused(tmp_path, text):
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(InvalidArgumentError, match=r"broken\.json"):
        load_layout(path)
    with pytest.raises(InvalidArgumentError, match=r"broken\.json"):
        Hazards.load(named_layout("islands"), path)


@pytest.mark.parametrize("name", ["large.json", "large.txt"])
def test_a_layout_file_without_end_is_not_read(tmp_path, name):
    path = tmp_path / name
    with path.open("wb") as stream:
        stream.truncate(1 << 33)  # eight gigabytes that take no room on the disk
    tracemalloc.start()
    with pytest.raises(InvalidArgumentError, match="large"):
        load_layout(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 26
    tracemalloc.stop()
    with pytest.raises(InvalidArgumentError):
        Hazards.load(named_layout("islands"), path)


def test_json_errors_hold_no_piece_of_the_text():
    for text in ('{"secret": 0.123456, oops}', '{"secret0.123456": 1, "secret0.123456": 2}'):
        with pytest.raises(InvalidArgumentError) as caught:
            parse_json(text)
        assert caught.value.__context__ is None
        assert "123456" not in str(caught.value) + repr(caught.value.args)


# ---------------------------------------------------------------------------- sparse indices


def compressed(kind: str) -> Any:
    source: Any = sparse.random_array(
        (6, 4), density=0.5, format="csr", rng=np.random.default_rng(0)
    )
    return sparse.bsr_array(source, blocksize=(2, 2)) if kind == "bsr" else source.asformat(kind)


def spoilt(kind: str):
    """Matrices of a format that were sound when they were made."""
    if kind in ("csr", "csc", "bsr"):
        for name, place, value in (
            ("indices", 0, 10**6),
            ("indices", -1, -1),
            ("indptr", 1, 10**6),
            ("indptr", 1, -3),
            ("indptr", 0, 1),
            ("indptr", -1, 10**6),
        ):
            made = compressed(kind)
            getattr(made, name)[place] = value
            yield made
        for name in ("data", "indices", "indptr"):
            made = compressed(kind)
            setattr(made, name, getattr(made, name)[:2])
            yield made
        made = compressed(kind)
        made.indices = made.indices.astype(float)
        yield made
    elif kind == "coo":
        for axis in (0, 1):
            for value in (10**6, -1):
                made = compressed(kind)
                made.coords[axis][0] = value
                yield made
        made = compressed(kind)
        made.data = made.data[:2]
        yield made
    elif kind == "lil":
        made = compressed(kind)
        made.rows[0], made.data[0] = [10**6], [1.0]
        yield made
        made = compressed(kind)
        made.data[0] = [1.0] * 50
        yield made
    elif kind == "dok":
        made = compressed(kind)
        made._dict[(10**6, 0)] = 1.0
        yield made
    else:
        made = compressed(kind)
        made.offsets = np.arange(50)
        yield made


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_a_sparse_matrix_whose_indices_were_spoilt_is_refused_at_every_door(kind):
    assert _check.matrix("A", compressed(kind)).shape == (6, 4)
    assert np.array_equal(
        _check.matrix("A", compressed(kind)).toarray(), compressed(kind).toarray()
    )
    for bad in spoilt(kind):
        with pytest.raises(InvalidArgumentError, match="sound sparse matrix"):
            _check.matrix("A", bad)
        with pytest.raises(InvalidArgumentError, match="sound sparse matrix"):
            LinearProgram(np.ones(4), bad, b=np.ones(6))
        with pytest.raises(InvalidArgumentError, match="sound sparse matrix"):
            CMDP(bad, np.ones((2, 3)), f=np.ones((2, 3)), f0=[1.0], mu=[1.0, 0.0], gamma=0.5)
        with pytest.raises(InvalidArgumentError, match="sound sparse matrix"):
            Affine((6, 4), constant=bad)
        with pytest.raises(InvalidArgumentError, match="sound sparse matrix"):
            coordinate_ranges(LinearProgram(np.ones(4), upper=1.0), bad)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("T.indices", 0, 10**9),
        ("T.indices", 0, -1),
        ("T.indptr", 1, 10**9),
        ("T.indptr", 1, -1),
        ("T.indptr", -1, 10**9),
        ("r", 0, np.nan),
        ("mu", 0, 2.0),
    ],
)
def test_a_cmdp_file_with_one_bad_number_is_refused(tmp_path, name, place, value):
    made = small_cmdp().document()
    arrays = {key: np.array(array) for key, array in made.arrays.items()}
    arrays[name].flat[place] = value
    path = Document(CMDP_FORMAT, made.facts, arrays).write(tmp_path / "model.npz")
    with pytest.raises(InvalidArgumentError, match="CMDP"):
        CMDP.load(path)


@pytest.mark.parametrize("name", sorted(small_cmdp().document().arrays))
def test_a_cmdp_file_with_one_array_of_another_shape_is_refused(tmp_path, name):
    made = small_cmdp().document()
    for other in (made.arrays[name].ravel()[:-1], np.empty(0), made.arrays[name][None]):
        arrays = {**made.arrays, name: other}
        if np.array_equal(other, made.arrays[name]):
            continue
        path = Document(CMDP_FORMAT, made.facts, arrays).write(tmp_path / "model.npz")
        with pytest.raises(InvalidArgumentError, match="CMDP"):
            CMDP.load(path)


# ---------------------------------------------------------------------------- everything comes back


def programs() -> ParametricLP:
    envelope = Envelope.join(
        {"a": Envelope(0.1, 1.0, radius=0.25, shape=(2, 2)), "b": Envelope(1.0, 2.0, shape=1)},
        records={"a": [[7, 7], [0, 3]], "b": [3]},
    )
    return ParametricLP(
        envelope,
        c=Affine(2, constant=[1.0, 2.0], at=[0], entry=[0], coefficient=0.5),
        A=Affine((1, 2), constant=[[0.0, 0.5]], at=([0, 0], [0, 1]), entry=[1, 2]),
        b=Affine(1, at=[0], entry=[4]),
        A_ub=[[1.0, 1.0]],
        b_ub=[3.0],
        A_eq=[[1.0, -1.0]],
        b_eq=[0.0],
        upper=[4.0, np.inf],
        row_names=["the row"],
    )


def test_programs_models_and_solutions_come_back_as_they_were(tmp_path):
    program = programs()
    again = ParametricLP.load(program.save(tmp_path / "program.npz"))
    assert again.document().digest == program.document().digest
    assert again.row_names == program.row_names
    assert again.envelope.groups == program.envelope.groups
    point = np.array([0.5, 0.5])
    box = {"lower": program.envelope.lower, "upper": program.envelope.upper}
    assert np.array_equal(
        again.worst_case_slack(point, **box), program.worst_case_slack(point, **box)
    )
    model = ParametricCMDP.for_states(
        small_cmdp(),
        [0, 2],
        severity=Envelope(0.0, 1.0, shape=2),
        tolerance=Envelope(1.0, 2.0, shape=1),
    )
    assert (
        ParametricCMDP.load(model.save(tmp_path / "model.npz")).document().digest
        == model.document().digest
    )
    solution = solve(program.robust(**box))
    saved = type(solution).load(solution.save(tmp_path / "solution.npz", program=program))
    assert np.array_equal(saved.x, solution.x)
    assert saved.certificate == solution.certificate
    uncertified = solve(LinearProgram([1.0], upper=1.0), certify=False)
    assert type(solution).load(uncertified.save(tmp_path / "s.npz")).certificate is None
    without_rows = solve(LinearProgram([1.0], upper=1.0))
    assert type(solution).load(without_rows.save(tmp_path / "s.npz")).certificate is not None


def test_no_flipped_byte_of_a_release_file_gives_another_release_or_error(tmp_path):
    from dp_cmdp import Release

    release = release_database(Database([0.5], Envelope([0.0], [1.0])), PrivacyBudget(1, "1/1000"))
    path = release.save(tmp_path / "release.npz")
    content, digest = path.read_bytes(), release.document().digest
    for place in range(0, len(content), 11):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :])
        with contextlib.suppress(InvalidArgumentError):
            assert Release.load(path).document().digest == digest


def test_an_edit_that_keeps_the_digest_a_member_twice_and_another_format_are_refused(tmp_path):
    whole = Document("a", {"k": 1}, {"x": np.arange(3.0)}).write(tmp_path / "whole.npz")
    other = Document("a", {"k": 2}, {"x": np.arange(3.0)}).write(tmp_path / "other.npz")
    with zipfile.ZipFile(whole) as first, zipfile.ZipFile(other) as second:
        members = {name: first.read(name) for name in first.namelist()}
        facts = second.read("facts.npy")
    edited, doubled = tmp_path / "edited.npz", tmp_path / "doubled.npz"
    for path, content in ((edited, {**members, "facts.npy": facts}), (doubled, members)):
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in content.items():
                archive.writestr(name, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile's own, of the second member
        with zipfile.ZipFile(doubled, "a") as archive:
            archive.writestr("x.npy", members["x.npy"])
    assert read_document(whole, "a", arrays=["x"]).facts == {"k": 1}
    for path, format in ((edited, "a"), (doubled, "a"), (whole, "b")):
        with pytest.raises(InvalidArgumentError):
            read_document(path, format, arrays=["x"])
