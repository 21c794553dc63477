"""What every compared system looks like from outside: one record, one verb, one answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.accounting.budget import PrivacyBudget
from dp_cmdp.data.database import Database
from dp_cmdp.data.release import Release
from dp_cmdp.errors import SolverError
from dp_cmdp.program.parametric import ParametricLP

#: Rounds of multiplicative weights beyond which a game is not played.
MOST_ROUNDS = 1_000_000


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
    release : Release or None
        The published intervals, for methods that publish some.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp import PrivacyBudget
    >>> from dp_cmdp.baselines import METHODS
    >>> from dp_cmdp.problems.ad_auction import ad_auction_program, random_auction
    >>> program, rng = ad_auction_program(4, 3), np.random.default_rng(0)
    >>> database = random_auction(program, rng)
    >>> answer = METHODS["robust"].run(program, database, PrivacyBudget(1, "1/1000"), rng=rng)
    >>> answer.converged, answer.x.shape
    (True, (12,))
    """

    x: FloatArray | None
    converged: bool
    note: str = ""
    release: Release | None = None

    def __post_init__(self) -> None:
        _check.flag("converged", self.converged)
        if self.x is not None:
            object.__setattr__(self, "x", _check.vector("x", self.x))


#: The body of a method: (program, database, budget, *, rng, its own options) → Answer.
Solver = Callable[..., Answer]


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """One system of the comparison.

    Attributes
    ----------
    name : str
        The file it lives in, and its key in the registry.
    label : str
        Citation, or a short description.
    private : tuple of str
        The blocks among A, b, c that it protects. It reads the others as they are.
    promises_feasibility : bool
        Whether every answer satisfies the true constraints, with certainty.
    solver : Solver
    model : str
        ``"differential privacy"``, ``"joint differential privacy"`` or ``"none"``.

    Examples
    --------
    >>> from dp_cmdp.baselines import METHODS
    >>> from dp_cmdp.problems.ad_auction import ad_auction_program
    >>> munoz = METHODS["munoz2021"]
    >>> munoz.private, munoz.leaks(ad_auction_program(4, 3))
    (('b',), ('A', 'c'))
    """

    name: str
    label: str
    private: tuple[str, ...]
    promises_feasibility: bool
    solver: Solver
    model: str = "differential privacy"

    @door
    def run(
        self,
        program: ParametricLP,
        database: Database,
        budget: PrivacyBudget,
        *,
        rng: np.random.Generator,
        **options: Any,
    ) -> Answer:
        """Answer the program once.

        Parameters
        ----------
        program : ParametricLP
        database : Database
            Of the program's envelope.
        budget : PrivacyBudget
        rng : numpy.random.Generator
            The same state gives the same answer.
        **options
            The method's own; see its module.

        Returns
        -------
        Answer
            With ``converged=False`` when the engine or the method's iteration failed: in a
            comparison that is a result.

        Raises
        ------
        AssumptionError
            When the method does not apply to this program, saying why. No data was read.

        Notes
        -----
        **Privacy.** *Spends the budget*, for the blocks in `private`.

        Examples
        --------
        >>> import numpy as np
        >>> from dp_cmdp import PrivacyBudget, violation
        >>> from dp_cmdp.baselines import METHODS
        >>> from dp_cmdp.problems.ad_auction import ad_auction_program, random_auction
        >>> program, rng = ad_auction_program(4, 3), np.random.default_rng(0)
        >>> database = random_auction(program, rng)
        >>> algorithm_1, budget = METHODS["benvenuti2025"], PrivacyBudget(1, "1/1000")
        >>> answer = algorithm_1.run(program, database, budget, rng=rng)  # a simulation
        >>> violation(program, database, x=answer.x).violated_rows
        0
        """
        program.check_owns(database)
        try:
            return self.solver(program, database, budget, rng=rng, **options)
        except SolverError as error:
            return Answer(None, converged=False, note=f"{type(error).__name__}: {error}")

    @door
    def leaks(self, program: ParametricLP) -> tuple[str, ...]:
        """The blocks that read the database and that this method does not protect."""
        return tuple(name for name in program.sensitive_blocks if name not in self.private)
