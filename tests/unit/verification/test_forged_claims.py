"""Forged files in which all agrees but one claim: one check alone can refuse each of them."""

from dataclasses import replace

import numpy as np
import pytest

from dp_cmdp import (
    CMDP,
    Database,
    Envelope,
    ParametricLP,
    Policy,
    PrivacyBudget,
    Release,
    release_blocks,
    release_database,
    solve_private,
)
from dp_cmdp._documents import Origin
from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.data.affine import Affine
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.solution_file import SolutionFile
from dp_cmdp.verification.claims import release_claims
from dp_cmdp.verification.files import verify
from dp_cmdp.verification.solutions import solution_claims

BUDGET = PrivacyBudget(1, "1/1000")


def failed(claims) -> list[str]:
    return [found.claim for found in claims if found.holds is False]


def released(records=None, *, simulated: bool = False) -> Release:
    envelope = Envelope(0.0, 1.0, radius=0.125, records=records, shape=3)
    rng = np.random.default_rng(0) if simulated else None
    return release_database(Database([0.25, 0.5, 0.75], envelope), BUDGET, rng=rng)


def refused(forged: Release, tmp_path) -> str:
    """Why the file of a forged release is not read; exactly one of its claims is untrue."""
    assert len(failed(release_claims(forged))) == 1
    with pytest.raises(InvalidArgumentError) as caught:
        Release.load(forged.save(tmp_path / "release.npz"))
    return str(caught.value)


@pytest.mark.parametrize("size", [1, 3])
def test_a_release_that_states_another_record_size_is_refused(tmp_path, size):
    release = released(records=[0, 0, 1])
    assert release.guarantee.record_size == 2
    forged = replace(release, guarantee=replace(release.guarantee, record_size=size))
    assert "records hold up to 2 entries" in refused(forged, tmp_path)


@pytest.mark.parametrize("radius", [0.0625, np.nextafter(0.125, 0.0), [0.125, 0.125, 0.0625]])
def test_a_release_whose_noise_was_made_for_larger_radii_is_refused(tmp_path, radius):
    """It would be private, with noise that nobody plans for such radii."""
    release = released()
    smaller = Envelope(0.0, 1.0, radius=radius, shape=3)
    assert "made for other radii" in refused(replace(release, envelope=smaller), tmp_path)


@pytest.mark.parametrize("version", ["", "1.0\x1b[2J", "1" * 101])
def test_a_version_that_is_no_short_text_is_refused(tmp_path, version):
    assert "no short text" in refused(replace(released(), version=version), tmp_path)


def in_blocks(envelope: Envelope, **places: Affine) -> Release:
    """Algorithm 1 over two entries; `places` say where A, b and c read them."""
    program = ParametricLP(
        envelope,
        **{
            "c": [1.0, 1.0],
            "A": Affine((1, 2), constant=[[1.0, 1.0]]),
            "b": Affine(1, constant=[4.0]),
            "upper": 10.0,
            **places,
        },
    )
    database = Database([0.3, 0.6], envelope)
    shares = dict.fromkeys(places, 1)
    return release_blocks(database, BUDGET, program=program, alphas=shares)


def test_an_objective_that_is_off_the_lattice_of_its_noise_is_refused(tmp_path):
    release = in_blocks(
        Envelope(0.0, 1.0, radius=0.125, shape=2), c=Affine(2, at=[0, 1], entry=[0, 1])
    )
    assert not failed(release_claims(release))
    for cells, holds in ((1.0, True), (0.5, False)):
        moved = release.estimate + np.array([0.0, cells * release.step[1]])
        forged = replace(release, estimate=moved, draws=moved)
        assert (not failed(release_claims(forged))) is holds
    assert "gives entry 1" in refused(forged, tmp_path)


def test_intervals_with_room_for_the_rounding_of_a_sum_are_what_their_noise_makes(tmp_path):
    envelope = Envelope(0.0, 1.0, radius=2.0**-9, shape=2)
    summed = Affine(1, constant=[4.0], at=[0, 0], entry=[0, 1], coefficient=[0.7, 1.3])
    release = in_blocks(envelope, b=summed)
    assert (summed.rounding(envelope.lower, envelope.upper) > 0.0).all()
    assert release.lower[0] > 4.0  # not cut to the public bounds
    assert release.upper[0] < 6.0
    Release.load(release.save(tmp_path / "release.npz"))


def test_a_release_of_entries_with_blocks_beside_them_is_refused(tmp_path):
    envelope = Envelope(0.0, 1.0, radius=0.125, shape=2)
    blocks = in_blocks(envelope, c=Affine(2, at=[0, 1], entry=[0, 1])).blocks
    release = release_database(Database([0.3, 0.6], envelope), BUDGET)
    forged = replace(release, blocks=blocks)
    assert failed(release_claims(forged))
    with pytest.raises(InvalidArgumentError, match="has no blocks"):
        Release.load(forged.save(tmp_path / "release.npz"))


def test_a_simulation_that_calls_itself_secure_is_refused(tmp_path):
    release = released(simulated=True)
    assert not failed(release_claims(release))
    assert "not secure" in refused(replace(release, secure=True), tmp_path)


@pytest.mark.parametrize(("end", "by"), [("upper", 1.5), ("lower", -0.5)])
def test_an_interval_beyond_the_envelope_is_refused_where_no_lattice_gives_it_away(
    tmp_path, end, by
):
    release = released(simulated=True)
    ends = np.array(getattr(release, end))
    ends[-1] = by
    assert "leaves the public bounds" in refused(replace(release, **{end: ends}), tmp_path)


@pytest.mark.parametrize(("tolerance", "holds"), [(2.0, False), (3.5, True)])
def test_a_policy_of_a_small_model_is_not_believed(tmp_path, tolerance, holds):
    """Ten discounted visits cost up to 3."""
    public = CMDP(np.ones((1, 1, 1)), [[1.0]], f=[[0.0]], f0=[1.0], mu=[1.0], gamma=0.9)
    model = ParametricCMDP.for_states(
        public, [0], severity=Envelope([0.0], [0.3]), tolerance=Envelope([tolerance], [5.0])
    )
    path = Policy([[1.0]]).save(tmp_path / "policy.npz", model=model)
    report = verify(path, model.save(tmp_path / "model.npz"))
    assert failed(report.findings) == (
        [] if holds else ["the policy keeps every tolerance with certainty"]
    )


def priced(upper: float) -> tuple[ParametricLP, Release]:
    envelope = Envelope([1.0, 4.0], [2.0, 8.0], radius=0.125)
    program = ParametricLP(
        envelope,
        c=[1.0, 1.0],
        A=Affine((1, 2), at=([0], [0]), entry=[0], constant=[[0.0, 1.0]]),
        b=Affine(1, at=[0], entry=[1]),
        A_ub=[[1.0, -1.0]],
        b_ub=[0.5],
        upper=upper,
    )
    return program, release_database(Database([1.5, 6.0], envelope), BUDGET)


@pytest.mark.parametrize(
    ("point", "claim"),
    [
        ([9.0, 9.0], "every inequality row holds with certainty"),
        ([0.75, 0.0], "every inequality row holds with certainty"),
        ([0.0, 1.5], "the variables lie in their bounds"),
        ([-0.5, 0.5], "the variables lie in their bounds"),
    ],
)
def test_a_solution_whose_certificate_says_all_that_is_found_is_judged_by_its_point(point, claim):
    program, release = priced(upper=1.0 if "bounds" in claim else 10.0)
    solution = solve_private(program, release)
    assert not failed(solution_claims(program, release, solution))
    x = np.array(point)
    slack = program.worst_case_slack(x, lower=release.lower, upper=release.upper)
    assert solution.certificate is not None
    told = replace(solution.certificate, worst_slack=float(slack.min()))
    forged = replace(solution, x=x, objective=float(x.sum()), certificate=told)
    assert failed(solution_claims(program, release, forged)) == [claim]


def test_a_release_of_other_groups_with_the_same_numbers_is_refused(tmp_path):
    """Two entries named together are not the entries of two names."""
    program, _ = priced(upper=10.0)
    low, high = program.envelope.lower, program.envelope.upper
    groups = {name: Envelope(low[k], high[k], radius=0.125, shape=1) for k, name in enumerate("pq")}
    other = Envelope.join(groups)
    release = release_database(Database([1.5, 6.0], other), BUDGET)
    own = release_database(Database([1.5, 6.0], program.envelope), BUDGET)
    solution = solve_private(program, own)
    answer = SolutionFile(solution, Origin.of(release, program, "")).document()
    files = release.save(tmp_path / "release.npz"), program.save(tmp_path / "program.npz")
    report = verify(*files, answer.write(tmp_path / "solution.npz"))
    assert failed(report.findings) == ["it fits its release and its program"]
    why = next(found.why for found in report.findings if found.holds is False)
    assert "another envelope" in why
