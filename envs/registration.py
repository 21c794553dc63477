"""Ids for :func:`gymnasium.make`, registered once Gymnasium and this package are both imported.

``import dp_cmdp`` does not import Gymnasium. Where that is imported later, a finder at the head of
:data:`sys.meta_path` waits for it, registers the ids behind it and is gone.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

#: Registered id → (layout, longest episode).
REGISTERED = {
    "dp_cmdp/HazardGrid-v0": ("paper", 200),
    "dp_cmdp/HazardGridCliff-v0": ("cliff", 200),
    "dp_cmdp/HazardGridCorridor-v0": ("corridor", 200),
    "dp_cmdp/HazardGridCrossing-v0": ("crossing", 200),
    "dp_cmdp/HazardGridIslands-v0": ("islands", 200),
    "dp_cmdp/HazardGridRooms-v0": ("rooms", 300),
    "dp_cmdp/HazardGridTwoKinds-v0": ("two_hazards", 200),
}


def register() -> None:
    """Register every id that is not registered yet; classes are imported when one is made."""
    import gymnasium as gym

    from dp_cmdp.envs.specs import GuardedSpec

    def add(env_id: str, name: str, *, steps: int, arguments: dict[str, Any]) -> None:
        if env_id not in gym.registry:
            entry = f"dp_cmdp.envs.hazard_grid:{name}"
            spec = GuardedSpec(env_id, entry, max_episode_steps=steps, kwargs=arguments)
            gym.registry[env_id] = spec

    for env_id, (layout, steps) in REGISTERED.items():
        add(env_id, "HazardGridEnv", steps=steps, arguments={"layout": layout})
    add("dp_cmdp/HazardGrid25-v0", "random_hazard_grid", steps=1000, arguments={"size": 25})


class _AwaitGymnasium(MetaPathFinder):
    """Finds Gymnasium as everybody does, once, and registers the ids when it has been imported."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            plain = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                plain(module)
                register()

            loader.exec_module = exec_module
        return spec


def register_when_imported() -> None:
    """Register now if Gymnasium is there, else as soon as it is."""
    if "gymnasium" in sys.modules:
        register()
    elif not any(isinstance(finder, _AwaitGymnasium) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AwaitGymnasium())
