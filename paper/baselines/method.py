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
    """What a method returns for one draw of its noise.

    Attributes
    ----------
    x : FloatArray or None
        The answer; None when the method found none.
    converged : bool
        Whether the method's own stopping rule was met.
    note : str
        What a reader of the result must know: leaks, failures, settings chosen. Never a value.
    outcomes : tuple of Outcome
        The noisy numbers, for methods that publish some.
    known, estimate : UncertaintySet and array, or None
        What was then known of the entries, and taken for them in the objective.
    """

    x: Floats | None
    converged: bool = True
    note: str = ""
    outcomes: tuple[Any, ...] = ()
    known: Any = None
    estimate: Floats | None = None


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
    """One system of the comparison.

    Attributes
    ----------
    name : str
        The file it lives in, and its key in the registry.
    private : str
        The blocks among "Abc" that it protects. It reads the others as they are.
    promises_feasibility : bool
        Whether every answer satisfies the true constraints, with certainty.
    solver : Solver
    model : str
        ``"differential privacy"``, ``"joint differential privacy"`` or ``"none"``.
    """

    name: str
    private: str
    promises_feasibility: bool
    solver: Solver
    model: str = "differential privacy"

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

        Raises
        ------
        RefusedError
            When the method does not apply to this program. No data was read.
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
