"""max cᵀx, A x ≤ b, x ≥ 0 with the noise of Algorithm 1: the setting of the paper's theorem.

Public rows and finite upper bounds of x become rows of A; masks say which entries are perturbed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dp_cmdp._check import FloatArray
from dp_cmdp.accounting.budget import Number, PrivacyBudget
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.database import Database
from dp_cmdp.errors import AssumptionError, InvalidArgumentError
from dp_cmdp.noise.laws import TruncatedLaplace
from dp_cmdp.program.linear_program import LinearProgram, solve
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.theory.feasible_set import coordinate_ranges
from dp_cmdp.theory.laws import LaplaceLaw
from dp_cmdp.theory.release_noise import ReleaseNoise, release_noise


@dataclass(frozen=True, slots=True, eq=False)
class StandardForm:
    """A true program in standard form, its extremes, and the noise it would meet: *curator only*.

    Attributes
    ----------
    A, b, c : FloatArray
    A_sup, b_inf, b_sup : FloatArray
        Â, b_inf and the paper's b̂.
    mask_A, mask_b, mask_c
        Perturbed entries.
    sigma_A, s_A, var_A, sigma_b, s_b, var_b, sigma_c : float
    solution : FloatArray
        x*.
    chi : FloatArray
        max x_j over the feasible set.
    slater : FloatArray
        ω with Âω ≤ b_inf − `slater_slack`.
    """

    A: FloatArray
    b: FloatArray
    c: FloatArray
    A_sup: FloatArray
    b_inf: FloatArray
    b_sup: FloatArray
    mask_A: NDArray[np.bool_]
    mask_b: NDArray[np.bool_]
    mask_c: NDArray[np.bool_]
    sigma_A: float
    s_A: float
    sigma_b: float
    s_b: float
    sigma_c: float
    solution: FloatArray
    chi: FloatArray
    slater: FloatArray
    slater_slack: float

    @classmethod
    def of(
        cls,
        program: ParametricLP,
        database: Database,
        *,
        budget: PrivacyBudget,
        alphas: Mapping[str, Number] | None = None,
        calibration: str = "paper",
    ) -> StandardForm:
        """Read a program and its true data."""
        if program.b_eq.size or (program.lower != 0).any():
            raise InvalidArgumentError(
                "the paper's theorem needs x ≥ 0 and inequality rows only (its Slater point cannot "
                "be strict in an equality); use accuracy_bound"
            )
        program.check_owns(database)
        noise = release_noise(
            program, budget, mechanism="blocks", alphas=alphas, calibration=calibration
        )
        box = program.envelope.lower, program.envelope.upper
        extra = np.eye(program.num_variables)[np.isfinite(program.upper)]
        below = np.vstack([program.A_ub.toarray(), extra])
        sides = np.concatenate([program.b_ub, program.upper[np.isfinite(program.upper)]])
        A = np.vstack([program.A.at(database.values).toarray(), below])
        b = np.concatenate([program.b.at(database.values), sides])
        A_sup = np.vstack([program.A.extremes(*box)[1].toarray(), below])
        b_inf, b_sup = (np.concatenate([end, sides]) for end in program.b.extremes(*box))
        lp = LinearProgram(program.c.at(database.values), A, b=b)
        slater, slack = _slater(A_sup, b_inf)
        return cls(
            A=A,
            b=b,
            c=np.array(lp.c),
            A_sup=A_sup,
            b_inf=b_inf,
            b_sup=b_sup,
            mask_A=_mask(program.A, A.shape),
            mask_b=_mask(program.b, b.shape),
            mask_c=_mask(program.c, lp.c.shape),
            **_block_noise(noise),
            solution=solve(lp, certify=False).x,
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
        return TruncatedLaplace(self.sigma_A, self.s_A).variance if self.s_A else 0.0

    @property
    def var_b(self) -> float:
        return TruncatedLaplace(self.sigma_b, self.s_b).variance if self.s_b else 0.0


def _mask(part: Affine, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    mask = np.zeros(shape, dtype=bool)
    row, col, _ = part.sensitive()
    mask[row if len(shape) == 1 else (row, col)] = True
    return mask


def _block_noise(noise: ReleaseNoise) -> dict[str, float]:
    """σ and s per block; 0 for a public block."""
    found = {"sigma_A": 0.0, "s_A": 0.0, "sigma_b": 0.0, "s_b": 0.0, "sigma_c": 0.0}
    assert isinstance(noise.law, LaplaceLaw)
    for name, _ in noise.envelope.groups:
        first = int(noise.envelope.index(name)[0])
        found[f"sigma_{name}"] = float(noise.law.scale[first])
        if name != "c":
            found[f"s_{name}"] = float(noise.support[first])
    return found


def _slater(A_sup: FloatArray, b_inf: FloatArray) -> tuple[FloatArray, float]:
    """The point whose smallest slack over the whole envelope is largest."""
    m, n = A_sup.shape
    found = solve(
        LinearProgram(
            np.append(np.zeros(n), 1.0),
            np.hstack([A_sup, np.ones((m, 1))]),
            b=b_inf,
            upper=np.append(np.full(n, np.inf), 1e12),
        ),
        certify=False,
    )
    if found.x[-1] <= 0:
        raise AssumptionError(
            "no point satisfies every row strictly for every database of the envelope",
            label="ass:slate",
        )
    return found.x[:-1], float(found.x[-1])
