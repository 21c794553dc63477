"""Small deterministic environments without a table, and what can be wrong with them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

#: S start, . free, L ends the episode, G ends it and pays, # wall.
MAP = ("S.L", "..G", "#..")
#: left, down, right, up
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))


class Walk(gym.Env[Any, Any]):
    """A walk on MAP; observations are state numbers (row·3 + col)."""

    def __init__(self, observed: Any = None) -> None:
        self.observation_space = gym.spaces.Discrete(9) if observed is None else observed
        self.action_space = gym.spaces.Discrete(4)
        self.place, self.steps = (0, 0), 0

    def observation(self) -> Any:
        return self.place[0] * 3 + self.place[1]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.steps = self.start(), 0
        return self.observation(), {}

    def start(self) -> tuple[int, int]:
        return 0, 0

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        row, col = (p + m for p, m in zip(self.place, MOVES[action], strict=True))
        if 0 <= row < 3 and 0 <= col < 3 and MAP[row][col] != "#":
            self.place = row, col
        letter = MAP[self.place[0]][self.place[1]]
        return self.observation(), self.pay(letter), letter in "LG", self.cut(), {}

    def pay(self, letter: str) -> float:
        return 5.0 if letter == "G" else -1.0

    def cut(self) -> bool:
        return False


def table() -> list[list[list[tuple[float, int, float, bool]]]]:
    """P of the walk, written down by hand: states out of reach, and ends, stay where they are."""
    to = {
        0: (0, 3, 1, 0), 1: (0, 4, 2, 1), 3: (3, 3, 4, 0), 4: (3, 7, 5, 1), 7: (7, 7, 8, 4),
        8: (7, 8, 8, 5),
    }  # fmt: skip
    P: list[list[list[tuple[float, int, float, bool]]]] = []
    for state in range(9):
        if state not in to:
            P.append([[(1.0, state, 0.0, True)]] * 4)
            continue
        moves = [(n, 5.0 if n == 5 else -1.0, n in (2, 5)) for n in to[state]]
        P.append([[(1.0, n, reward, over)] for n, reward, over in moves])
    return P


class Pixels(Walk):
    """Observes a picture: states are told apart by a key only."""

    def __init__(self) -> None:
        super().__init__(gym.spaces.Box(0, 1, (3, 3)))

    def observation(self) -> Any:
        picture = np.zeros((3, 3), dtype=np.float32)
        picture[self.place] = 1.0
        return picture


class Tired(Walk):
    """Pays less the later."""

    def pay(self, letter: str) -> float:
        return max(0.5, 5.0 - 0.1 * self.steps) if letter == "G" else -1.0


class Patient(Walk):
    """Has a time limit of its own."""

    def cut(self) -> bool:
        return self.steps >= 6


class Anywhere(Walk):
    def start(self) -> tuple[int, int]:
        return (0, int(self.np_random.integers(2)))


class Locked(Walk):
    """Entering (1, 0) opens the goal, which no observation shows."""

    opened = False

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.opened = False
        return super().reset(seed=seed)

    def step(self, action: int) -> Any:
        seen, reward, over, cut, info = super().step(action)
        self.opened = self.opened or self.place == (1, 0)
        return seen, reward, over and (self.opened or seen != 5), cut, info
