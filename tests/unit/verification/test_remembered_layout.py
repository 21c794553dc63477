"""Policies remember their layout: commands need no other, and a foreign one is found out."""

import json
from dataclasses import replace

import pytest

from dp_cmdp import Policy, robust_policy
from dp_cmdp.cli import main
from dp_cmdp.cmdp.policy import FORMAT, LAID_OUT, PolicyFile
from dp_cmdp.envs import HazardGridEnv, named_layout, save_layout
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.verification.files import verify


@pytest.fixture(scope="module")
def env() -> HazardGridEnv:
    """A grid that no name of the package leads to."""
    return HazardGridEnv(named_layout("corridor").replace(name="mine", slip=0.1))


@pytest.fixture(scope="module")
def safe(env):
    return robust_policy(env.model())


def saved(folder, env, safe, **more):
    return safe.policy.save(folder / "policy.npz", model=env.model(), layout=env.layout, **more)


def claims(*paths) -> dict[str, bool | None]:
    return {found.claim: found.holds for found in verify(*paths).findings}


def test_a_file_holds_the_layout_and_is_named_after_it(env, safe, tmp_path):
    path = saved(tmp_path, env, safe)
    file = PolicyFile.load(path)
    assert file.document().format == LAID_OUT
    assert file.layout is not None
    assert HazardGridEnv(file.layout).layout == env.layout
    assert file.origin.name == "mine"
    assert Policy.load(path) == safe.policy
    assert PolicyFile.load(saved(tmp_path, env, safe, name="yours")).origin.name == "yours"


def test_a_policy_without_a_layout_is_written_as_before(env, safe, tmp_path):
    path = safe.policy.save(tmp_path / "plain.npz", model=env.model(), name="mine")
    file = PolicyFile.load(path)
    assert file.document().format == FORMAT == "dp_cmdp.Policy/2"
    assert file.layout is None
    assert "layout" not in file.document().facts


def test_commands_need_no_option_for_the_layout(env, safe, tmp_path, capsys):
    path = str(saved(tmp_path, env, safe))
    assert main(["evaluate", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["certificate"]["verified"]
    assert main(["rollout", path, "--episodes", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["layout"] == "mine"
    assert main(["verify", path]) == 0


def test_an_option_still_decides(env, safe, tmp_path, capsys):
    path = str(saved(tmp_path, env, safe))
    assert main(["rollout", path, "--layout", "corridor", "--episodes", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["layout"] == "corridor"
    assert main(["evaluate", path, "--layout", "islands"]) == 2
    assert "choose with --layout or --env" in capsys.readouterr().err


def test_an_old_file_is_played_in_the_layout_it_names(tmp_path, capsys):
    env = HazardGridEnv("corridor")
    policy = robust_policy(env.model()).policy
    old = policy.save(tmp_path / "old.npz", model=env.model(), name="corridor")
    assert main(["rollout", str(old), "--episodes", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["layout"] == "corridor"
    unknown = policy.save(tmp_path / "unknown.npz", model=env.model(), name="elsewhere")
    assert main(["rollout", str(unknown), "--episodes", "3"]) == 2
    assert "choose with --layout or --env" in capsys.readouterr().err


def test_verification_proves_that_the_layout_belongs_to_the_policy(env, safe, tmp_path):
    path = saved(tmp_path, env, safe)
    found = claims(path)
    assert found["its layout belongs to it"] is True
    assert found["the policy keeps every tolerance with certainty"] is True


@pytest.mark.parametrize("change", [{"slip": 0.0}, {"gamma": 0.5}, {"goal_reward": 1.0}])
def test_a_foreign_layout_fails_even_beside_the_right_one(change, env, safe, tmp_path, capsys):
    file = PolicyFile.load(saved(tmp_path, env, safe))
    foreign = replace(file, layout={**(file.layout or {}), **change})
    path = foreign.document().write(tmp_path / "foreign.npz")
    own = save_layout(env.layout, tmp_path / "layout.json")
    for files in ([path], [path, own]):
        assert claims(*files)["its layout belongs to it"] is False
        assert not verify(*files).passed
    for command in (["evaluate", str(path)], ["rollout", str(path)]):
        assert main(command) == 2
        assert "the layout of its own model" in capsys.readouterr().err


@pytest.mark.parametrize("layout", [{}, {"format": "dp_cmdp.Layout/1"}, {"map": ["S"]}])
def test_what_is_no_layout_is_a_failed_claim_and_a_clear_refusal(
    layout, env, safe, tmp_path, capsys
):
    file = PolicyFile.load(saved(tmp_path, env, safe))
    path = replace(file, layout=layout).document().write(tmp_path / "broken.npz")
    assert not verify(path).passed
    assert main(["rollout", str(path)]) == 2
    assert capsys.readouterr().err.startswith("dp-cmdp rollout: error: layout")


def test_a_layout_that_is_no_object_is_refused_when_it_is_read(env, safe, tmp_path):
    file = PolicyFile.load(saved(tmp_path, env, safe))
    document = file.document()
    broken = replace(document, facts={**document.facts, "layout": ["S"]})
    with pytest.raises(InvalidArgumentError, match="layout must be an object"):
        PolicyFile.load(broken.write(tmp_path / "list.npz"))


def test_synthesize_writes_a_policy_that_is_verified_with_its_release_alone(tmp_path, capsys):
    layout = save_layout(named_layout("corridor").replace(name="own"), tmp_path / "own.json")
    out = str(tmp_path / "out")
    command = ["synthesize", "--layout", str(layout), "--epsilon", "2", "--delta", "1e-3"]
    assert main([*command, "--plan", "database", "--out", out]) == 0
    capsys.readouterr()
    assert main(["verify", f"{out}/release.npz", f"{out}/policy.npz"]) == 0
    told = capsys.readouterr().out
    assert "its layout belongs to it" in told
    assert max(map(len, told.splitlines())) <= 100
