"""What a release refuses before it reads or spends, and a release file before it is believed."""

import numpy as np
import pytest

from dp_cmdp import (
    Affine,
    Database,
    Envelope,
    LinearProgram,
    ParametricLP,
    PrivacyBudget,
    PrivacyLedger,
    Release,
    release_blocks,
    release_database,
    solve,
)
from dp_cmdp._documents import Document
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.program.certified import equality_residuals

BUDGET = PrivacyBudget(1, "1/1000")


def program(upper: float = 1.0) -> ParametricLP:
    envelope = Envelope(0.0, upper, shape=2, radius=0.1)
    A = Affine((1, 2), at=([0, 0], [0, 1]), entry=[0, 1])
    return ParametricLP(envelope, c=[1.0, 1.0], A=A, b=[1.0], upper=2.0)


def test_blocks_of_a_program_are_released_of_its_own_database_only():
    foreign = Database([0.2, 0.4], program(upper=2.0).envelope)
    with pytest.raises(InvalidArgumentError, match="share one Envelope"):
        release_blocks(foreign, BUDGET, program=program(), alphas={"A": 1})


@pytest.mark.parametrize("rng", [None, np.random.default_rng(0)])
def test_a_ledger_needs_to_know_whose_budget_is_spent(tmp_path, rng):
    ledger = PrivacyLedger(tmp_path / "ledger.db")
    ledger.create("x", BUDGET, "one person")
    nameless = Database([0.2, 0.4], program().envelope)
    with pytest.raises(InvalidArgumentError, match="identity"):
        release_database(nameless, BUDGET, rng=rng, ledger=ledger)
    with pytest.raises(InvalidArgumentError, match="identity"):
        release_blocks(nameless, BUDGET, program=program(), alphas={"A": 1}, rng=rng, ledger=ledger)
    assert ledger.entries("x") == []


def test_a_release_file_that_claims_more_than_it_proves_is_refused(tmp_path):
    made = release_database(Database([0.2, 0.4], program().envelope), BUDGET).document()
    said = Document(made.format, {**made.facts, "epsilon": "1/100"}, made.arrays)
    with pytest.raises(InvalidArgumentError):
        Release.load(said.write(tmp_path / "release.npz"))


def test_a_residual_is_0_only_where_the_equality_holds_exactly():
    A = LinearProgram([1.0, 1.0], A_eq=[[1.0, 1e-160]], b_eq=[1e4]).A_eq
    missed = equality_residuals(A, np.array([1e4]), x=np.array([1e4, 1e-163]))[1]
    kept = equality_residuals(A, np.array([1e4]), x=np.array([1e4, 0.0]))[1]
    assert missed[0] > 0.0
    assert kept[0] == 0.0


def test_the_certificate_names_the_margins_it_took():
    margins = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        lp = LinearProgram(rng.random(6), rng.random((8, 6)), b=rng.random(8) + 0.1, upper=1.0)
        proof = solve(lp).certificate
        assert proof is not None
        margins.append(proof.margin)
        assert (proof.margin > 0.0) == (proof.attempts > 1)
    assert max(margins) > 0.0
