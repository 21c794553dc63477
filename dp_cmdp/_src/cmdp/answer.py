"""The answer of a constrained MDP: a policy, its proof, and what it may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dp_cmdp._src.base.html import rows_table
from dp_cmdp._src.base.validation import FloatArray
from dp_cmdp._src.cmdp.certificate import worst_databases
from dp_cmdp._src.cmdp.chain import chain_of
from dp_cmdp._src.cmdp.policy import Policy
from dp_cmdp._src.data.envelope import UncertaintySet
from dp_cmdp._src.program.answer import Answer

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class PolicyAnswer(Answer[Policy]):
    """The answer of a constrained MDP.

    Attributes
    ----------
    policy : Policy
        Certified for every database that the release allows; see :class:`Answer` for the rest.
    known : UncertaintySet
        The databases that are possible: those it is certified for.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """

    kind: ClassVar[str] = "constrained MDP"
    _known: UncertaintySet | None = None

    @property
    def policy(self) -> Policy:
        return self.decision

    @property
    def known(self) -> UncertaintySet:
        if self.release is not None:
            return self.release.uncertainty
        return self.problem.envelope.uncertainty if self._known is None else self._known

    def worst_databases(self) -> FloatArray:
        """Per constraint, a database of the set in which the policy has least left of its limit."""
        problem = self.problem
        return worst_databases(problem.mdp, problem.rows, self.policy, self.known)

    def costs_at_worst(self) -> tuple[FloatArray, FloatArray]:
        """Cost and limit of each constraint, both in the database that leaves it the least room."""
        x = chain_of(self.problem.mdp, self.policy).occupancy().ravel()
        cost, limit = np.empty((2, len(self.problem.names)))
        for k, theta in enumerate(self.worst_databases()):
            cost[k] = (self.problem.cost.at(theta) @ x)[k]
            limit[k] = self.problem.limit.at(theta)[k]
        return cost, limit

    def to_frame(self) -> pd.DataFrame:
        """One row per constraint: cost and limit, proved slack and whether it is kept.

        Cost and limit are of one database, the one that leaves the constraint the least room; the
        slack is proved for every database. The policy's own table is ``policy.to_frame()``.
        """
        import pandas as pd

        cost, limit = self.costs_at_worst()
        columns = {
            "cost": cost,
            "limit": limit,
            "slack": self.certificate.slack,
            "kept": self.certificate.slack >= 0.0,
        }
        return pd.DataFrame(columns, index=pd.Index(self.problem.names, name="constraint"))

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        rows = (tuple(row) for row in frame.itertuples())
        head = ["constraint", *frame.columns]
        word = self.problem.criterion.word
        title = f"Costs and limits ({word}), where the least room is left"
        return super()._repr_html_() + rows_table(title, head, rows, count=len(frame))

    def _decision_document(self) -> dict[str, Any]:
        return self.policy.document()

    @classmethod
    def _decision_from(cls, said: Mapping[str, Any]) -> Policy:
        return Policy.from_document(dict(said))
