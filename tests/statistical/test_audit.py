"""What passes and what fails the audit. False-alarm probability: 1e-6 per audited mechanism."""

import json

import numpy as np
import pytest

from dp_cmdp import Database, Envelope, PrivacyBudget, TruncatedLaplace, release_database
from dp_cmdp.audit.outcomes import Outcomes
from dp_cmdp.audit.subject import audit, audit_subject
from dp_cmdp.audit.subjects.injected import injected_bugs
from dp_cmdp.audit.subjects.looks import looks_subjects
from dp_cmdp.audit.subjects.programs import ONE_BY_ONE, method_subject, program_subjects
from dp_cmdp.audit.subjects.releases import shipped_subjects
from dp_cmdp.audit.suite import audit_everything
from dp_cmdp.baselines import METHODS
from dp_cmdp.cli import main

#: The layers that must see each bug, whatever else sees it.
MUST_SEE = {
    "mask from realised zeros": {"coupling", "black_box"},
    "scale x 0.8": {"noise_law", "black_box"},
    "support x 0.8": {"noise_law", "black_box"},
    "float noise, gaps of 2^-53": {"black_box"},
    "exception that depends on data": {"coupling", "black_box"},
    "totals: sensitivity not rounded up": {"black_box"},
    "totals: weights from the data": {"coupling", "black_box"},
    "totals: plan that reads the data": {"coupling", "black_box"},
}


@pytest.mark.parametrize("make", shipped_subjects())
def test_every_database_release_passes_all_four_layers(make):
    found = audit_subject(make(), rng=np.random.default_rng(1), runs=10_000)
    assert found.passed, found.to_dict()
    assert all(verdict.passed for verdict in found.layers.values())
    assert 0.4 < found.epsilon_lower_bound <= 1  # the audit has power, and the claim holds


@pytest.mark.parametrize("make", looks_subjects())
def test_a_release_in_looks_passes_all_four_layers(make):
    found = audit_subject(make(), rng=np.random.default_rng(6), runs=1_000)
    assert found.passed, found.to_dict()
    assert all(verdict.passed for verdict in found.layers.values())


@pytest.mark.parametrize("make", program_subjects()[:2])
def test_algorithm_1_with_exact_noise_passes(make):
    found = audit_subject(make(), rng=np.random.default_rng(2), runs=2_000)
    assert found.passed, found.to_dict()
    assert found.layers["certificate"].passed
    assert found.layers["coupling"].passed


@pytest.mark.parametrize(
    "name",
    [n for n, m in METHODS.items() if m.model == "differential privacy" and n not in ONE_BY_ONE],
)
def test_private_methods_of_the_comparison_pass(name):
    found = audit_subject(method_subject(METHODS[name]), rng=np.random.default_rng(3), runs=1_500)
    assert found.passed, found.to_dict()


@pytest.mark.parametrize("bug", injected_bugs())
def test_injected_bugs_are_caught_by_the_layers_that_should_see_them(bug):
    subject = injected_bugs()[bug]()
    runs = 2_000 if bug.startswith("mask") else 20_000
    found = audit_subject(subject, rng=np.random.default_rng(4), runs=runs)
    assert MUST_SEE[bug] <= set(found.objecting), found.to_dict()


def test_float_noise_is_refused_for_real_use_and_exact_noise_is_not():
    """The reason why a Generator makes a release ``secure=False``."""
    envelope = Envelope(-64.0, 64.0, radius=1.0, shape=4000)

    def outcomes(secure):
        def sample(runs, rng):
            sides = np.tile([0.0, 1.0], 2000)
            source = None if secure else rng
            parts = [
                release_database(
                    Database(sides, envelope), PrivacyBudget("1/3", "1/20"), rng=source
                ).estimate
                for _ in range(-(-runs // 2000))
            ]
            shown = np.concatenate(parts)[:, None]
            return Outcomes.of(shown[0::2][:runs]), Outcomes.of(shown[1::2][:runs])

        return sample

    claim = {"epsilon": "1/3", "delta": "1/20", "runs": 4_000}
    for secure in (True, False):
        found = audit(
            lambda values, rng: values,
            ([0.0], [1.0]),
            sampler=outcomes(secure),
            rng=np.random.default_rng(5),
            **claim,
        )
        assert found.passed == secure


def test_a_private_mechanism_is_never_accused_over_many_audits():
    """30 audits of a mechanism that is exactly at its claim: false alarm below 3e-5."""
    law = TruncatedLaplace.calibrate(1.0, 1, delta="1/20")

    def sample(runs, rng):
        first, second = (side + law.sample(rng, runs)[:, None] for side in (0.0, 1.0))
        return Outcomes.of(first), Outcomes.of(second)

    for seed in range(30):
        found = audit(
            lambda values, rng: values + law.sample(rng, values.size),
            ([0.0], [1.0]),
            epsilon=1,
            delta="1/20",
            rng=np.random.default_rng(seed),
            runs=1_000,
            sampler=sample,
            additive=True,
            law=law,
            representation=False,
        )
        assert found.passed


@pytest.mark.long
def test_the_whole_audit_passes_and_its_command_says_so(tmp_path, capsys):
    code = main(["audit", "--json", "--workers", "1", "--out", str(tmp_path)])
    document = json.loads(capsys.readouterr().out)
    assert code == 0
    assert all(method["passed"] for method in document["methods"])
    assert all(bug["caught"] for bug in document["injected"])
    assert {bug["bug"] for bug in document["injected"]} == set(MUST_SEE)
    assert (tmp_path / "audit.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "audit.json").read_text()) == document


@pytest.mark.long
def test_more_runs_change_no_verdict():
    report = audit_everything(runs=20_000, seed=1)
    assert report.passed, report.to_dict()
