"""The catalogue: real functions, found without loading what they need."""

import inspect
import pickle
import subprocess
import sys

import pytest

from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.experiments.scale import NOISES_PER_GRID
from dp_cmdp.experiments.sweep import name_of
from dp_cmdp.reproductions import REPRODUCTIONS, Study

HEAVY = {"gymnasium", "cvxpy", "matplotlib", "distributed", "pandas", "joblib"}


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_a_study_is_made_of_functions_of_its_own_module(name):
    study = REPRODUCTIONS[name].study()
    assert isinstance(study, Study)
    module = f"dp_cmdp.experiments.{name.replace('-', '_')}"
    for part in (study.sweep, study.rows):
        assert inspect.isfunction(part)
        assert part.__module__ == module
    parts = sys.modules[module]  # a study that has them must not lose them here
    assert getattr(parts, "quick_sweep", None) is study.quick_sweep
    assert getattr(parts, "summary", study.summary) is study.summary


@pytest.mark.parametrize("name", REPRODUCTIONS)
@pytest.mark.parametrize("quick", [True, False])
def test_units_of_work_can_be_sent_to_other_processes_and_have_keys_of_their_own(name, quick):
    made = REPRODUCTIONS[name]
    sweep = made.sweep(quick=quick, draws=None, seed=0)
    assert sweep.name == name
    assert sweep.draws == (made.quick_draws if quick else made.draws)
    assert name_of(sweep.function).startswith("dp_cmdp.experiments.")
    chunks = sweep.chunks()
    assert [chunk.key for chunk in pickle.loads(pickle.dumps(chunks))] == [c.key for c in chunks]
    assert len({chunk.key for chunk in chunks}) == len(chunks)


def test_asking_for_help_loads_none_of_the_studies_and_pictures():
    code = (
        "import sys\nfrom dp_cmdp.cli.main import build_parser\nbuild_parser()\n"
        "studies = [m for m in sys.modules if m.startswith('dp_cmdp.figures') or "
        "m.startswith('dp_cmdp.experiments.') and m != 'dp_cmdp.experiments.sweep']\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)), studies)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] []"


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_quick_runs_have_the_draws_that_intervals_need_and_fewer_are_refused_at_once(name):
    made = REPRODUCTIONS[name]
    assert made.draws >= made.quick_draws >= made.fewest_draws
    if made.fewest_draws > 1:
        with pytest.raises(InvalidArgumentError, match=f"at least {made.fewest_draws}"):
            made.sweep(quick=True, draws=made.fewest_draws - 1, seed=0)


def test_fresh_grids_need_draws_on_two_of_them():
    assert REPRODUCTIONS["scale"].fewest_draws > NOISES_PER_GRID
