"""Import of deterministic environments: a state put back, against one deep copy per action.

    python benchmarks/exploration.py

Both explore the same environments in turns, in this process. The peer copies the whole environment
for every state and action, lets its agent see, and looks at no generator.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

import gymnasium as gym
import minigrid  # noqa: F401  # pyright: ignore[reportUnusedImport]
from gymnasium.envs.toy_text import CliffWalkingEnv, FrozenLakeEnv, TaxiEnv

from dp_cmdp._src.frontends.gymnasium import exploration, snapshot
from dp_cmdp.gymnasium import load

TURNS = 2


class _Undrawn:
    """An environment of Gymnasium's that hides its table, and reads it without a draw."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.moves = self.__dict__.pop("P")

    def step(self, a: int) -> Any:
        ((chance, self.s, paid, over),) = self.moves[self.s][a]
        return int(self.s), paid, over, False, {"prob": chance}


class Lake(_Undrawn, FrozenLakeEnv):
    """Not slippery."""


class Cliff(_Undrawn, CliffWalkingEnv):
    """As it is."""


class Taxi(_Undrawn, TaxiEnv):
    """With a passenger who is never fickle."""

    def action_mask(self, state: int) -> Any:
        return None


class Warehouse(gym.Env[Any, Any]):
    """A robot that moves boxes: positions in an array, a map in a list of texts."""

    action_space = gym.spaces.Discrete(4)
    observation_space = gym.spaces.Box(0, 9)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.plan = ["#########", *["#.......#"] * 7, "#########"]
        self.robot, self.boxes = [1, 1], {"red": [3, 3]}
        return [0], {}

    def step(self, action: int) -> Any:
        move = ((0, 1), (1, 0), (0, -1), (-1, 0))[action]
        to = [self.robot[0] + move[0], self.robot[1] + move[1]]
        box = self.boxes["red"]
        beyond = [to[0] + move[0], to[1] + move[1]]
        free = to != box or self.plan[beyond[0]][beyond[1]] == "."
        if self.plan[to[0]][to[1]] == "." and free:
            self.robot = to
            if to == box:
                box[:] = beyond
        return [0], -1.0, box == [7, 7], False, {}


def named(env: Any) -> Any:
    return int(env.s)


def cases() -> Iterator[tuple[str, Callable[[], Any], dict[str, Any]]]:
    for room in ("Empty-8x8", "Empty-16x16", "DoorKey-5x5", "FourRooms", "LavaCrossingS9N2"):
        paid = {"reward": lambda paid: float(paid > 0), "seed": 0}
        yield f"MiniGrid {room}", lambda room=room: gym.make(f"MiniGrid-{room}-v0"), paid
    yield "FrozenLake 8x8", lambda: Lake(map_name="8x8", is_slippery=False), {"key": named}
    yield "CliffWalking", Cliff, {"key": named}
    yield "Taxi", Taxi, {"key": named, "seed": 0}
    place = {"key": lambda env: (*env.robot, *env.boxes["red"])}
    yield "a warehouse of one's own", Warehouse, place


@contextmanager
def copied() -> Iterator[None]:
    """Every state is left by a deep copy of all of it."""
    held, kept = snapshot.Snapshot, (snapshot.Snapshot._is_noted, snapshot.Snapshot._copy)
    seen = exploration.unseen
    held._is_noted, held._copy = lambda self, env: False, lambda self: copy.deepcopy(self._env)
    exploration.unseen = lambda env, name: env
    try:
        yield
    finally:
        (held._is_noted, held._copy), exploration.unseen = kept, seen


def seconds(made: Callable[[], Any], options: dict[str, Any]) -> tuple[float, int]:
    env, begun = made(), process_time()
    model = load(env, gamma=0.97, **options)
    return process_time() - begun, model.environment.num_states


def main() -> None:
    print(f"{'environment':28}{'states':>8}{'copies':>10}{'put back':>10}{'ratio':>8}")
    for name, made, options in cases():
        old, new = [], []
        for _ in range(TURNS):
            new.append(seconds(made, options))
            with copied():
                old.append(seconds(made, options))
        (slow, count), (fast, _) = min(old), min(new)
        print(f"{name:28}{count:8}{slow:9.2f}s{fast:9.2f}s{slow / fast:7.1f}×", flush=True)


if __name__ == "__main__":
    main()
