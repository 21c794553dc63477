"""Gymnasium environments that carry a private hazard database.

``import envs`` registers them; so does ``gymnasium.make("envs:dp_cmdp/HazardGrid-v0")``.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from envs.catalogue import as_layout, layout_names, named_layout, random_layout
from envs.dynamics import GridModel
from envs.hazard_grid import HazardGridEnv, RandomHazardGridEnv
from envs.hazards import Hazards
from envs.layout import HazardKind, Layout
from envs.layout_files import load_layout, parse_map, save_layout
from envs.specs import GuardedSpec
from envs.wrappers import PrivateCostWrapper

__all__ = [
    "GridModel",
    "HazardGridEnv",
    "HazardKind",
    "Hazards",
    "Layout",
    "PrivateCostWrapper",
    "RandomHazardGridEnv",
    "as_layout",
    "layout_names",
    "load_layout",
    "named_layout",
    "parse_map",
    "random_layout",
    "save_layout",
]

#: Registered id → (layout, longest episode).
REGISTERED = {
    "dp_cmdp/HazardGrid-v0": ("islands", 200),
    "dp_cmdp/HazardGridCliff-v0": ("cliff", 200),
    "dp_cmdp/HazardGridCorridor-v0": ("corridor", 200),
    "dp_cmdp/HazardGridCrossing-v0": ("crossing", 200),
    "dp_cmdp/HazardGridPaper-v0": ("paper", 200),
    "dp_cmdp/HazardGridRooms-v0": ("rooms", 300),
    "dp_cmdp/HazardGridTwoKinds-v0": ("two_hazards", 200),
}


def _register(env_id: str, entry_point: str, *, steps: int, arguments: dict[str, Any]) -> None:
    if env_id not in gym.registry:
        gym.registry[env_id] = GuardedSpec(
            env_id, entry_point, max_episode_steps=steps, kwargs=arguments
        )


for _id, (_layout, _steps) in REGISTERED.items():
    _register(_id, "envs.hazard_grid:HazardGridEnv", steps=_steps, arguments={"layout": _layout})
_register(
    "dp_cmdp/HazardGrid25-v0",
    "envs.hazard_grid:RandomHazardGridEnv",
    steps=1000,
    arguments={"size": 25},
)
