"""What an installation lacks is named, with the command that installs it, before anything is spent.

Here packages are hidden from the import system; ``make release-check`` has environments without
them.
"""

import subprocess
import sys

import pytest

from dp_cmdp._src.base.extras import extra_of, is_installed, require
from dp_cmdp.errors import MissingExtraError

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
