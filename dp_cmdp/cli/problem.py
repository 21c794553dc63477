"""The options that name a hazard grid, shared by the commands that need one."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dp_cmdp.cli.tables import print_json
from dp_cmdp.cli.values import writable_folder
from dp_cmdp.errors import InvalidArgumentError

if TYPE_CHECKING:
    from dp_cmdp.cmdp.policy import Policy, PolicyFile
    from dp_cmdp.envs.hazard_grid import HazardGridEnv

DEFAULT_LAYOUT = "islands"
#: What commands that read a policy say about the default.
OF_THE_POLICY = f"the one the policy remembers, or else {DEFAULT_LAYOUT}"
#: Digits of a seed at most; a longer text of digits names a file.
LONGEST_SEED = 100


def add_problem_options(parser: argparse.ArgumentParser, *, default: str = DEFAULT_LAYOUT) -> None:
    """``--layout`` or ``--env``, and where the private hazards come from."""
    from dp_cmdp.envs import layout_names

    group = parser.add_argument_group("problem")
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--layout",
        metavar="NAME|FILE",
        help=f"a layout: {', '.join(layout_names())}, or a .json or text file (default: {default})",
    )
    which.add_argument("--env", metavar="ID", help="a registered id, e.g. dp_cmdp/HazardGrid25-v0")
    group.add_argument(
        "--hazards",
        metavar="FILE|SEED",
        help="the private hazards: a file, or the seed of simulated ones (default: the simulation "
        "that comes with the layout)",
    )


def open_as_curator(options: argparse.Namespace) -> HazardGridEnv:
    """The environment with its private side, which is not read before it is used."""
    hazards = hazards_source(options.hazards)
    if options.env is None:
        from dp_cmdp.envs import HazardGridEnv

        return HazardGridEnv(options.layout or DEFAULT_LAYOUT, access="curator", hazards=hazards)
    return make_env(options.env, access="curator", hazards=hazards)


def open_public(options: argparse.Namespace) -> HazardGridEnv:
    """The environment as everybody sees it."""
    if options.env is None:
        from dp_cmdp.envs import HazardGridEnv

        return HazardGridEnv(options.layout or DEFAULT_LAYOUT)
    return make_env(options.env)


def add_curator_options(parser: argparse.ArgumentParser, help: str) -> None:
    """``--curator``, in the group of what is looked at, and where its results go."""
    parser.add_argument("--curator", action="store_true", help=help)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="with --curator: results go to DIR/curator_only/ (default: the policy's folder)",
    )


def _open_for(options: argparse.Namespace) -> HazardGridEnv:
    """The environment of the curator with ``--curator``, else that of everybody."""
    if options.curator:
        return open_as_curator(options)
    for name in ("hazards", "out"):
        if getattr(options, name) is not None:
            raise InvalidArgumentError(
                f"--{name} needs --curator: without it the true hazards are not read"
            )
    return open_public(options)


def open_policy(options: argparse.Namespace) -> tuple[Policy, HazardGridEnv]:
    """The saved policy, and the environment it is for.

    That is the one named by an option, else the one it remembers, else the layout of the package
    that its file names.
    """
    from dp_cmdp.cmdp.policy import PolicyFile

    file = PolicyFile.load(options.policy)
    if options.layout is None and options.env is None:
        options.layout = _remembered(file)
    policy, env = file.policy, _open_for(options)
    if policy.num_states != env.layout.num_cells:
        raise InvalidArgumentError(
            f"the policy must fit the environment; it has {policy.num_states} states, layout "
            f"{env.layout.name!r} has {env.layout.num_cells}: choose with --layout or --env"
        )
    return policy, env


def _remembered(file: PolicyFile) -> Mapping[str, Any] | str | None:
    """The layout of a policy's file, once it belongs to the model that the file names."""
    from dp_cmdp.envs import HazardGridEnv, layout_names

    if file.layout is None:
        return file.origin.name if file.origin.name in layout_names() else None
    if HazardGridEnv(file.layout).model().document().digest != file.origin.program:
        raise InvalidArgumentError(
            "the policy must remember the layout of its own model; this one holds another: choose "
            "with --layout or --env"
        )
    return file.layout


def tell_curator(
    options: argparse.Namespace, name: str, look: Callable[[Path], Mapping[str, Any]]
) -> int:
    """Put what looks at the truth where only its curator reads, and say no more than that."""
    from dp_cmdp.data.curator import report_to_curator

    with writable_folder(options.out or options.policy.parent) as folder:
        written = report_to_curator(folder, name, look)
    say_written(written, as_json=options.json)
    return 0


def say_written(written: Path, *, as_json: bool) -> None:
    """The one thing that the public may learn about a curator's file."""
    if as_json:
        print_json({"curator_only": str(written)})
    else:
        print(f"curator-only results written to {written}")


def make_env(env_id: str, **arguments) -> HazardGridEnv:
    """``gymnasium.make`` without its wrappers, with errors that say what to do."""
    import gymnasium as gym

    from dp_cmdp import envs

    known = sorted(name for name in gym.registry if name.startswith("dp_cmdp/"))
    if env_id.removeprefix("envs:") not in known:
        raise InvalidArgumentError(
            f"env must be one of the hazard grids {', '.join(known)}; got {env_id!r}. For other "
            "tabular environments see dp_cmdp.frontends.gymnasium.cmdp_from_gymnasium"
        )
    made = gym.make(env_id.removeprefix("envs:"), disable_env_checker=True, **arguments)
    assert isinstance(made.unwrapped, envs.HazardGridEnv)
    return made.unwrapped


def hazards_source(source: str | None) -> int | Path | None:
    """What ``--hazards`` names: a seed, a file, or the simulation that comes with the layout."""
    if source is None:
        return None
    seed = source.isascii() and source.isdecimal() and len(source) <= LONGEST_SEED
    return int(source) if seed else Path(source)
