"""What an installation lacks is named, with the command that installs it, before anything is spent.

Here packages are hidden from the import system; ``make release-check`` has environments without
them.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dp_cmdp
from dp_cmdp._src.base.extras import extra_of, is_installed, require
from dp_cmdp.errors import Error, MissingExtraError

ROOT = Path(dp_cmdp.__file__).parent
PROJECT = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
EXTRAS = {
    "cvxpy": "cvxpy",
    "figures": "matplotlib",
    "dask": "distributed",
    "explorer": "nicegui",
}
HIDDEN = "import sys; sys.modules.update(cvxpy=None, matplotlib=None, distributed=None)\n"


@pytest.mark.parametrize(("extra", "package"), EXTRAS.items())
def test_an_extra_of_pyproject_is_found_in_the_metadata(extra, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingExtraError, match=rf"^{package} .* in a clone .* pip install '\.\[{extra}\]'$"
    ):
        require(package)


def test_a_package_that_no_extra_brings_is_installed_by_its_own_name():
    with pytest.raises(MissingExtraError, match="pip install no_such_package"):
        require("no_such_package")


def test_a_missing_extra_is_an_error_of_the_package_and_of_the_import():
    assert issubclass(MissingExtraError, Error)
    assert issubclass(MissingExtraError, ImportError)


def test_the_smallest_extra_that_brings_a_package_is_the_one_to_install():
    requirements = [
        "numpy>=2.0",
        "cvxpy>=1.9; extra == 'all'",
        "matplotlib>=3.9; extra == 'all'",
        "matplotlib-inline; extra == 'notebook'",
        'matplotlib>=3.9; python_version < "4" and extra == "figures"',
    ]
    assert extra_of("matplotlib", requirements) == "figures"
    assert extra_of("numpy", requirements) is None


def test_a_folder_beside_a_script_is_no_package(tmp_path, monkeypatch):
    (tmp_path / "beside_a_script").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_installed("beside_a_script")
    (tmp_path / "beside_a_script/__init__.py").touch()
    assert is_installed("beside_a_script")


def test_the_tests_and_the_extra_all_have_every_extra_of_users():
    optional = PROJECT["optional-dependencies"]
    assert set(optional["all"][0].removesuffix("]").partition("[")[2].split(",")) == set(EXTRAS)
    assert "dp-cmdp[all]" in optional["test"]
    assert "dp-cmdp[test]" in optional["dev"]
    core = " ".join(PROJECT["dependencies"])
    assert not any(package in core for package in EXTRAS.values())


@pytest.mark.parametrize(
    ("call", "extra"),
    [
        ("import dp_cmdp.cvxpy", "cvxpy"),
        ("dp_cmdp.cvxpy.load", "cvxpy"),
        ("import dp_cmdp.figures", "figures"),
    ],
)
def test_a_module_without_its_package_is_refused_by_name(call, extra):
    code = f"{HIDDEN}import dp_cmdp\n{call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"pip install '.[{extra}]'" in done.stderr.splitlines()[-1]


def test_without_matplotlib_an_environment_for_people_shows_text():
    code = f"""{HIDDEN}import gymnasium as gym, dp_cmdp
env = gym.make("dp_cmdp/HazardGrid-v0", render_mode="human")
env.reset(seed=0)
env.step(0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "G" in done.stdout
