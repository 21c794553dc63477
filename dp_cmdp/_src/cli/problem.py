"""The one way to name a problem: a grid, an environment's id, an LP or MPS file, or saved files."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.cli.parser import DEFAULT

MODELS = (".mps", ".lp", ".mps.gz", ".lp.gz")
PROBLEM, RELEASE, LAYOUT = "problem.npz", "release.npz", "layout.json"
#: Digits of a seed at most; a longer text of digits names a file.
LONGEST_SEED = 100
FORMS = f"""problems:
  {DEFAULT}, rooms, my.json      a grid: the name of a layout, or a layout file
  dp_cmdp/HazardGrid-v0       a registered environment
  model.mps --private S.toml  an MPS or LP file (or .gz), whose private numbers S.toml names
  problem.npz, out/solve      a saved problem, or a folder that holds one
"""


@dataclass(frozen=True, eq=False)
class Named:
    """A public problem, and what finds numbers of its private entries: nothing is read yet.

    `numbers` takes what ``--data`` or ``--prior`` says, and gives a path or a callable; `layout` is
    that of a grid.
    """

    name: str
    problem: Any
    numbers: Callable[[str | None], Any]
    layout: Any = None

    def database(self, source: str | None, ledger: Any = None) -> Any:
        """The private numbers, unread."""
        from dp_cmdp import Database

        return Database(self.numbers(source), self.problem, ledger=ledger)


def named(options: argparse.Namespace, text: str | None = None) -> Named:
    """The problem that is named; only public files are read."""
    text = str(text or options.problem or DEFAULT)
    if text.lower().endswith(MODELS):
        _refuse_criterion(options, text)
        return _of_model(options, Path(text))
    for name in ("private", "relax", "relative_to_model"):
        if getattr(options, name, None):
            said = name.replace("_", "-")
            raise InvalidArgumentError(f"--{said} belongs to an LP file (.mps, .lp), not to {text}")
    from dp_cmdp.envs import layout_names

    is_folder = (Path(text) / PROBLEM).is_file() and text not in layout_names()
    if text.endswith(".npz") or is_folder:
        _refuse_criterion(options, text)
        return _of_files(Path(text))
    return _of_layout(_layout(text), **_criterion(options))


def _criterion(options: argparse.Namespace) -> dict[str, Any]:
    given = {name: getattr(options, name, None) for name in ("horizon", "total")}
    return {name: value for name, value in given.items() if value}


def _refuse_criterion(options: argparse.Namespace, text: str) -> None:
    for name in _criterion(options):
        raise InvalidArgumentError(f"--{name} belongs to a grid, not to {text}")


def prior_numbers(options: argparse.Namespace, which: Named) -> Any:
    """What ``--prior`` names; never the private file itself."""
    if options.prior is None:
        return None
    given, own = Path(options.prior), Path(getattr(options, "data", None) or which.name)
    if given.is_file() and own.is_file() and given.samefile(own):
        raise InvalidArgumentError(
            "--prior must be public, and may be published; this is the file of the private numbers"
        )
    return which.numbers(options.prior)


def _layout(text: str) -> Any:
    from dp_cmdp.envs import REGISTERED, as_layout, layout_names

    env_id, known = text.removeprefix("dp_cmdp.envs:"), layout_names()
    if env_id.startswith("dp_cmdp/"):
        import gymnasium

        if env_id in gymnasium.registry:
            made: Any = gymnasium.make(env_id, disable_env_checker=True).unwrapped
            return made.layout
    elif text in known or Path(text).is_file():
        return as_layout(text if text in known else Path(text))
    raise InvalidArgumentError(
        f"PROBLEM must be a grid ({', '.join(known)}, or a layout file), an environment "
        f"({', '.join(REGISTERED)}), an .mps or .lp file with --private, a problem.npz or a folder "
        f"with one; there is no {text[:60]!r}"
    )


def _of_layout(layout: Any, **criterion: Any) -> Named:
    from dp_cmdp.envs import HazardGridEnv

    numbers = partial(_hazards, layout)
    return Named(layout.name, HazardGridEnv(layout).model(**criterion), numbers, layout)


def _hazards(layout: Any, source: str | None) -> Any:
    """Hazards of a seed or a JSON file, or the path of a table."""
    from dp_cmdp.envs import Hazards

    if source is not None and source.lower().endswith(".csv"):
        return Path(source)
    if source is not None and source.isascii() and source.isdecimal():
        seed = int(source) if len(source) <= LONGEST_SEED else Path(source)
        return Hazards.of(layout, seed).values
    return Hazards.of(layout, None if source is None else Path(source)).values


def _of_model(options: argparse.Namespace, model: Path) -> Named:
    from dp_cmdp import lpfile
    from dp_cmdp._src.base.storage import check_is_file

    if options.private is None:
        raise InvalidArgumentError(
            "--private must name the TOML file that says which numbers of the model are private"
        )
    spec, data = options.private, getattr(options, "data", None)
    relative = options.relative_to_model or data is not None
    program = lpfile.load(model, spec, relative_to_model=relative, relax=options.relax)

    def numbers(source: str | None) -> Any:
        if source is None:
            return partial(lpfile.values, model, spec)
        path = check_is_file(source, "CSV, MPS or LP")
        if not source.lower().endswith(MODELS):
            return path
        return partial(lpfile.values, path, spec, model=model if relative else None)

    return Named(str(model), program, numbers)


def _of_files(path: Path) -> Named:
    """A saved problem; beside the layout of its grid it is that grid."""
    from dp_cmdp._src.base.documents import loaded
    from dp_cmdp.envs import load_layout

    file = path / PROBLEM if path.is_dir() else path
    problem = loaded(file, "problem", _problem)
    if (file.parent / LAYOUT).is_file() and hasattr(problem, "mdp"):
        said = problem.criterion
        grid = _of_layout(
            load_layout(file.parent / LAYOUT),
            gamma=None if said.is_total else said.gamma,
            horizon=said.horizon,
            total=said.is_total,
        )
        if _same(grid.problem, problem):
            return grid

    def numbers(source: str | None) -> Any:
        if source is None:
            raise InvalidArgumentError(f"--data must name the file of private numbers of {file}")
        return Path(source)

    return Named(str(file), problem, numbers)


def _problem(said: dict[str, Any]) -> Any:
    from dp_cmdp import ParametricCMDP, ParametricLP

    kind = ParametricLP if said["problem"] == "linear program" else ParametricCMDP
    return kind.from_document(said)


def _same(grid: Any, problem: Any) -> bool:
    """Whether a layout is that of a saved problem."""
    a, b = grid.mdp, problem.mdp
    alike = grid.envelope == problem.envelope and (a.r.shape, a.criterion) == (
        b.r.shape,
        b.criterion,
    )
    return bool(alike and (a.r == b.r).all() and not abs(a.T - b.T).nnz)
