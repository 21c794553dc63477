"""The families of benchmark models are what they say, independently of the solver they measure."""

import zlib
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.families import FAMILIES, STARTS, TOLERANCES, Case, planning
from benchmarks.families.lines import corridor
from benchmarks.families.planning import Dynamics
from dp_cmdp.cmdp.solvers.door import solve_cmdp
from dp_cmdp.errors import InfeasibleError

SIZE = 60


@pytest.mark.parametrize("family", FAMILIES)
def test_probabilities_sum_to_one_exactly(family):
    for start in STARTS:
        model = Case(family, SIZE, start=start).build()
        assert (np.add.reduceat(model.T.data, model.T.indptr[:-1]) == 1.0).all()
        assert (model.T.data > 0.0).all()
        assert model.mu.sum() == 1.0
        assert SIZE <= model.num_states <= 1.5 * SIZE


@pytest.mark.parametrize("family", FAMILIES)
def test_tolerances_are_what_they_are_called(family):
    tight, loose, redundant = (
        solve_cmdp(Case(family, SIZE, 0.95, 2, kind).build(), engine="lp", gap=1e-6)
        for kind in TOLERANCES[:3]
    )
    assert tight.dual.max() > 1e-6
    assert loose.dual.max() < 1e-6
    assert redundant.value < loose.value + 1e-6
    with pytest.raises(InfeasibleError):
        solve_cmdp(Case(family, SIZE, 0.95, 2, "infeasible").build(), engine="lp")


def dynamics(family, gamma=0.999):
    rng = np.random.default_rng([0, zlib.crc32(family.encode()), SIZE])  # the models of seed 0
    structure = FAMILIES[family](SIZE, 1, rng)
    states = len(structure.r)
    return Dynamics(structure, gamma, np.full(states, 1 / states))


@pytest.mark.parametrize("family", FAMILIES)
def test_large_models_are_planned_by_incomplete_factors_as_small_ones_by_exact_ones(
    family, monkeypatch
):
    model = dynamics(family)
    f = model.structure.f
    safe, low, high = model.best(-f[0])
    exact = model.costs(safe, f)
    monkeypatch.setattr(planning, "THOROUGH", SIZE - 1)
    # the inverse of I - γP has row sums 1 / (1 - γ), and a larger residual is not taken
    error = planning.ENOUGH * f.max() / (1 - model.gamma)
    np.testing.assert_allclose(model.costs(safe, f), exact, rtol=0, atol=error)
    _, lower, higher = model.best(-f[0])
    assert max(low, lower) <= min(high, higher)  # both are certain


@pytest.mark.parametrize("answer", [0.0, np.nan])
@pytest.mark.parametrize("family", FAMILIES)
def test_an_evaluation_that_stalls_is_done_by_exact_factors(family, answer, monkeypatch):
    model = dynamics(family)
    model = replace(model, structure=replace(model.structure, tangled=False))
    f, first = model.structure.f, np.zeros(model.mu.size, dtype=int)
    exact = model.values(first, f)
    monkeypatch.setattr(planning, "THOROUGH", SIZE - 1)
    monkeypatch.setattr(planning, "_rough_solve", lambda _: lambda side: answer * side)
    np.testing.assert_array_equal(model.values(first, f), exact)


@pytest.mark.parametrize("family", ["tree", "garnet"])
def test_an_evaluation_that_is_cut_short_is_done_by_exact_factors(family, monkeypatch):
    model = dynamics(family)
    f, first = model.structure.f, np.zeros(model.mu.size, dtype=int)
    small = replace(model, structure=replace(model.structure, tangled=False))
    exact = small.values(first, f)
    monkeypatch.setattr(planning, "THOROUGH", SIZE - 1)
    monkeypatch.setattr(planning, "STEPS", 0)
    np.testing.assert_array_equal(model.values(first, f), exact)


def test_a_graph_that_does_not_mix_is_planned_with_factors(monkeypatch):
    chain = corridor(200, 1, np.random.default_rng(0))
    ahead, mu = np.ones(200, dtype=int), np.full(200, 1 / 200)
    exact = Dynamics(chain, 0.999, mu).costs(ahead, chain.f)
    tangled = Dynamics(replace(chain, tangled=True), 0.999, mu)
    monkeypatch.setattr(planning, "STEPS", 3)  # too few without factors
    assert tangled.costs(ahead, chain.f) == pytest.approx(exact, rel=1e-7)


def test_one_redundant_cost_is_the_same_everywhere():
    model = Case("ring", SIZE, tolerance="redundant").build()
    assert np.ptp(model.f) == 0.0


def test_a_redundant_row_follows_from_the_others():
    model = Case("garnet", SIZE, costs=3, tolerance="redundant").build()
    np.testing.assert_allclose(model.f[2], model.f[:2].mean(axis=0))
    assert model.f0[2] == pytest.approx(model.f0[:2].mean())


def test_a_key_names_one_model_and_seeds_differ():
    case = Case("rooms", SIZE, 0.999, 3, "loose", "sparse", 7)
    assert Case.of(case.key) == case
    one, again, other = case.build(), Case.of(case.key).build(), Case("rooms", SIZE, seed=8).build()
    assert np.array_equal(one.f, again.f)
    assert np.array_equal(one.f0, again.f0)
    assert not np.array_equal(one.f[0], other.f[0])


def test_starts_are_what_they_are_called():
    support = {kind: int((Case("grid", 100, start=kind).build().mu > 0).sum()) for kind in STARTS}
    assert support == {"uniform": 99, "single": 1, "sparse": 9}


def test_many_states_of_the_absorbing_family_are_ends():
    model = Case("absorbing", 500).build()
    stays = model.T[np.arange(0, 2000, 4)].diagonal() == 1.0
    assert 0.3 < stays.mean() < 0.5


def test_deterministic_models_have_one_successor_per_action():
    assert Case("deterministic", 500).build().T.nnz == 2000
