"""What every compared system looks like from outside: one record, one verb, one answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dp_cmdp as dp
from paper.blocks import Form, form
from paper.linear import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a method returns for one draw of its noise."""

    x: Floats | None  # None when the method found none
    converged: bool = True  # whether its own stopping rule was met
    note: str = ""  # what a reader must know: leaks, failures, settings. Never a value
    outcomes: tuple[Any, ...] = ()  # the noisy numbers, where some are published
    known: Any = None  # of the entries, an uncertainty set
    estimate: Floats | None = None  # of the entries, in the objective


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a method is to answer: a program, its true database, a budget, and randomness."""

    program: dp.ParametricLP
    values: Floats
    budget: dp.PrivacyBudget
    rng: np.random.Generator

    @property
    def part(self) -> Form:
        """The blocks of the program."""
        return form(self.program)


#: The body of a method: (task, its own options by keyword) → Answer.
Solver = Callable[..., Answer]


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """One system of the comparison."""

    name: str  # its key in the registry
    private: str  # the blocks among "Abc" that it protects; it reads the others as they are
    promises_feasibility: bool  # of every answer, for the true constraints, with certainty
    solver: Solver
    model: str = "differential privacy"  # or "joint differential privacy", or "none"

    def run(
        self,
        program: dp.ParametricLP,
        values: Floats,
        budget: dp.PrivacyBudget,
        *,
        rng: np.random.Generator,
        **options: Any,
    ) -> Answer:
        """Answer the program once; failure of an engine or an iteration is a result.

        A method that does not apply to a program is refused, before data is read.
        """
        try:
            return self.solver(Task(program, values, budget, rng), **options)
        except dp.errors.SolverError as error:
            return Answer(None, converged=False, note=f"{type(error).__name__}: {error}")

    def leaks(self, program: dp.ParametricLP) -> tuple[str, ...]:
        """The blocks that read the database and that this method does not protect."""
        return tuple(name for name in form(program).sensitive if name not in self.private)


def unprotected(block: str) -> str:
    """The note on a block that is read as it is."""
    return f"block {block} unprotected"
