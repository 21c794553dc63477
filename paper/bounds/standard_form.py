"""max cᵀx, A x ≤ b, x ≥ 0 with the noise of Algorithm 1: the setting of the paper's theorem.

Public rows and finite upper bounds of x become rows of A; masks say which entries are perturbed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import dp_cmdp as dp
from paper.blocks import Block, equal_shares, form
from paper.bounds.feasible_set import coordinate_ranges
from paper.bounds.laws import Law
from paper.bounds.noise import block_noise
from paper.linear import Floats, LinearProgram, solve


@dataclass(frozen=True, slots=True, eq=False)
class StandardForm:
    """A true program in standard form, its extremes, and the noise it would meet: *curator only*.

    Attributes
    ----------
    A, b, c : Floats
    A_sup, b_inf, b_sup : Floats
        Â, b_inf and the paper's b̂.
    mask_A, mask_b, mask_c
        Perturbed entries.
    sigma_A, s_A, var_A, sigma_b, s_b, var_b, sigma_c : float
    solution : Floats
        x*.
    chi : Floats
        max x_j over the feasible set.
    slater : Floats
        ω with Âω ≤ b_inf − `slater_slack`.
    """

    A: Floats
    b: Floats
    c: Floats
    A_sup: Floats
    b_inf: Floats
    b_sup: Floats
    mask_A: NDArray[np.bool_]
    mask_b: NDArray[np.bool_]
    mask_c: NDArray[np.bool_]
    sigma_A: float
    s_A: float
    sigma_b: float
    s_b: float
    sigma_c: float
    solution: Floats
    chi: Floats
    slater: Floats
    slater_slack: float

    @classmethod
    def of(
        cls,
        program: dp.ParametricLP,
        values: Floats,
        *,
        budget: dp.PrivacyBudget,
        alphas: Mapping[str, Fraction] | None = None,
    ) -> StandardForm:
        """Read a program and its true data."""
        part = form(program)
        if part.b_eq.size or (part.lower != 0).any():
            raise dp.errors.InvalidArgumentError(
                "the paper's theorem needs x ≥ 0 and inequality rows only (its Slater point cannot "
                "be strict in an equality); use accuracy_bound"
            )
        noise = block_noise(program, budget, alphas or equal_shares(program))
        box = part.envelope.lower, part.envelope.upper
        below = np.eye(part.num_variables)[np.isfinite(part.upper)]
        sides, truth = part.upper[np.isfinite(part.upper)], part.at(values)
        A = np.vstack([truth.A.toarray(), below])
        A_sup = np.vstack([part.A.extremes(*box)[1].toarray(), below])
        ends = (end.toarray().ravel() for end in part.b.extremes(*box))
        b_inf, b_sup = (np.concatenate([end, sides]) for end in ends)
        lp = LinearProgram.of(truth.c, A, np.concatenate([truth.b, sides]))
        slater, slack = _slater(A_sup, b_inf)
        sigma_A, s_A = noise.get("A", (0.0, 0.0))
        sigma_b, s_b = noise.get("b", (0.0, 0.0))
        return cls(
            A=A,
            b=lp.b,
            c=lp.c,
            A_sup=A_sup,
            b_inf=b_inf,
            b_sup=b_sup,
            mask_A=_mask(part.A, A.shape),
            mask_b=_mask(part.b, (lp.b.size, 1)).ravel(),
            mask_c=_mask(part.c, (lp.c.size, 1)).ravel(),
            sigma_A=sigma_A,
            s_A=s_A,
            sigma_b=sigma_b,
            s_b=s_b,
            sigma_c=noise.get("c", (0.0, 0.0))[0],
            solution=solve(lp).x,
            chi=coordinate_ranges(lp)[1],
            slater=slater,
            slater_slack=slack,
        )

    @property
    def per_row(self) -> NDArray[np.int64]:
        """n⁰_i: perturbed entries per row of A."""
        return self.mask_A.sum(axis=1)

    @property
    def per_column(self) -> NDArray[np.int64]:
        """m⁰_j: perturbed entries per column of A."""
        return self.mask_A.sum(axis=0)

    @property
    def num_b(self) -> int:
        return int(self.mask_b.sum())

    @property
    def num_c(self) -> int:
        return int(self.mask_c.sum())

    @property
    def var_A(self) -> float:
        return _variance(self.sigma_A, self.s_A)

    @property
    def var_b(self) -> float:
        return _variance(self.sigma_b, self.s_b)


def _variance(sigma: float, s: float) -> float:
    return float(Law(np.array([sigma]), np.array([s])).variance[0]) if s else 0.0


def _mask(part: Block, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    mask = np.zeros(shape, dtype=bool)
    row, col, _ = part.places
    mask[row, col] = True
    return mask


def _slater(A_sup: Floats, b_inf: Floats) -> tuple[Floats, float]:
    """The point whose smallest slack over the whole envelope is largest."""
    m, n = A_sup.shape
    found = solve(
        LinearProgram.of(
            np.append(np.zeros(n), 1.0),
            np.hstack([A_sup, np.ones((m, 1))]),
            b_inf,
            upper=np.append(np.full(n, np.inf), 1e12),
        ),
    )
    if found.x[-1] <= 0:
        raise dp.errors.RefusedError(
            "no point satisfies every row strictly for every database of the envelope (ass:slate)"
        )
    return found.x[:-1], float(found.x[-1])
