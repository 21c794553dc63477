"""Named and random layouts."""

import numpy as np
import pytest
from scipy import sparse

from dp_cmdp.envs import GridModel, as_layout, layout_names, named_layout, random_layout
from dp_cmdp.envs.layout_files import layout_to_dict
from dp_cmdp.errors import InvalidArgumentError
from tests.problems import scipy_optimum


def robust_slack(layout):
    """How far the safest policy stays below the smallest tolerance when every hazard is worst."""
    robust = GridModel(layout).parametric().robust()
    flow = sparse.kron(np.eye(robust.num_states), np.ones((1, 4))) - robust.gamma * robust.T.T
    costs = robust.f.reshape(robust.num_constraints, -1)
    rows = np.hstack([costs, np.ones((robust.num_constraints, 1))])
    answer = scipy_optimum(
        np.append(np.zeros(costs.shape[1]), -1.0),
        A_ub=rows,
        b_ub=robust.f0,
        A_eq=sparse.hstack([flow, sparse.csr_array((robust.num_states, 1))]),
        b_eq=robust.mu,
        bounds=[(0, None)] * costs.shape[1] + [(None, None)],
    )
    return -answer.fun


@pytest.mark.parametrize("name", layout_names())
def test_every_named_layout_is_robustly_feasible(name):
    assert robust_slack(named_layout(name)) > 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kinds", [1, 2])
def test_random_layouts_are_robustly_feasible(seed, kinds):
    layout = random_layout(8, seed=seed, kinds=kinds, wall_density=0.15, density=0.4)
    assert robust_slack(layout) > 0


def test_the_catalogue_names_the_promised_layouts():
    promised = {"corridor", "rooms", "islands", "cliff", "two_hazards", "paper"}
    assert promised <= set(layout_names())


def test_the_paper_layout_has_the_published_bounds():
    (kind,) = named_layout("paper").kinds
    assert kind.severity[1] == 0.9
    assert kind.tolerance[0] == 0.3
    assert kind.severity_radius == kind.tolerance_radius == 0.1


def test_a_layout_is_taken_from_a_name_a_mapping_a_path_or_itself(tmp_path):
    layout = named_layout("rooms")
    path = tmp_path / "yard.txt"
    path.write_text("S?G")
    assert as_layout("rooms") == as_layout(layout) == as_layout(layout_to_dict(layout)) == layout
    assert as_layout(str(path)) == as_layout(path)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InvalidArgumentError, match=r"corridor.*'atlantis'"):
        as_layout("atlantis")
    with pytest.raises(InvalidArgumentError, match="layout must be"):
        as_layout(3)  # pyright: ignore[reportArgumentType]


def test_a_random_layout_is_determined_by_its_seed():
    assert random_layout(10, seed=3) == random_layout(10, seed=3)
    assert random_layout(10, seed=3) != random_layout(10, seed=4)


@pytest.mark.parametrize("density", [0.0, 0.1, 0.3, 1.0])
def test_the_density_is_the_share_of_candidates(density):
    layout = random_layout(12, seed=0, density=density)
    assert len(layout.candidates) == max(1, round(density * 142))


@pytest.mark.parametrize(
    "facts",
    [
        {"size": 2},
        {"density": 1.5},
        {"wall_density": -0.1},
        {"wall_density": 1.0},
        {"kinds": 0},
        {"seed": -1},
        {"gamma": 1.0},
        {"slip": 1.1},
    ],
)
def test_a_random_layout_refuses_bad_facts(facts):
    with pytest.raises(InvalidArgumentError):
        random_layout(**{"size": 5, "seed": 0, **facts})
