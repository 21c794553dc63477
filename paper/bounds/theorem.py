"""The paper's accuracy theorem, as printed and as repaired.

For max cᵀx, A x ≤ b, x ≥ 0 and Algorithm 1, the theorem (``thm:lp_accuracy_e``) says

    E[cᵀx* − cᵀx̃]  ≤  ‖c‖₂ · H(G, C) · ρ .

H is the Hoffman constant of the optimality system in z = (x, μ): G = [A 0; 0 −Aᵀ; −I 0; 0 −I],
C = [cᵀ −bᵀ]. Put the private pair (x̃, μ̃) into it: A x̃ ≤ b holds, so the primal residual is 0; what
remains is [(Ã − A)ᵀμ̃ − (c̃ − c)]⁺ and (c − c̃)ᵀx̃ − (b − b̃)ᵀμ̃. ρ bounds the root mean square of their
norm, by the noise (case i) or by the envelope (case ii).

The *repaired* ρ (all steps proved in the documentation):

* x̃_j ≤ χ = max{x_j : x feasible}; 0 ≤ Ã − A ≤ s_A + Z, Â − A; 0 ≤ b − b̃ ≤ s_b − z, b − b_inf;
* ‖μ̃‖₁ ≤ Λ(z_c) = (cᵀx* − cᵀω + Σ_j |z_j| max(ω_j, χ_j − ω_j))/min_i r_i for a point ω with
  Âω ≤ b_inf − r, r > 0. Only the noise of c enters, and it is independent of the rest;
* (p + q)² ≤ 2p² + 2q² instead of dropped cross terms; both cases hold always: take the smaller.

The *printed* ρ keeps every slip of the paper (errata in the documentation); its Λ divides by the
slack at an optimal point, which is 0 where a row binds, so the printed bound is then infinite. Both
are far above the truth; :func:`paper.bounds.accuracy.accuracy_bound` is the one to use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import dp_cmdp as dp
from paper.blocks import Block, equal_shares, form
from paper.bounds.feasible_set import coordinate_ranges
from paper.bounds.hoffman import HoffmanConstant, hoffman_constant
from paper.bounds.noise import Law, block_noise
from paper.linear import Floats, LinearProgram, solve


@dataclass(frozen=True, slots=True, eq=False)
class StandardForm:
    """A true program in standard form, its extremes, and the noise it would meet."""

    A: Floats
    b: Floats
    c: Floats
    A_sup: Floats  # Â
    b_inf: Floats
    b_sup: Floats  # the paper's b̂
    mask_A: NDArray[np.bool_]  # perturbed entries
    mask_b: NDArray[np.bool_]
    mask_c: NDArray[np.bool_]
    sigma_A: float
    s_A: float
    sigma_b: float
    s_b: float
    sigma_c: float
    solution: Floats  # x*
    chi: Floats  # max x_j over the feasible set
    slater: Floats  # ω with Âω ≤ b_inf − slater_slack
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
        noise = block_noise(program, budget, alphas or equal_shares(part))
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
        )
    )
    if found.x[-1] <= 0:
        raise dp.errors.RefusedError(
            "no point satisfies every row strictly for every database of the envelope (ass:slate)"
        )
    return found.x[:-1], float(found.x[-1])


@dataclass(frozen=True, slots=True)
class PaperBound:
    """The pieces of ‖c‖·H·ρ: *curator only*."""

    form: str
    chi: float
    dual_bound: float  # Λ (repaired: its root mean square)
    rho_noise: float  # case (i)
    rho_envelope: float  # case (ii)
    hoffman: HoffmanConstant
    c_norm: float

    @property
    def rho(self) -> float:
        """The smaller of both cases: the most that can be said for the theorem."""
        return min(self.rho_noise, self.rho_envelope)

    @property
    def value(self) -> float:
        """‖c‖·H·ρ with the upper bound of H."""
        return self.c_norm * self.hoffman.upper * self.rho

    @property
    def at_least(self) -> float:
        """‖c‖·H·ρ with the lower bound of H: the theorem cannot give less."""
        return self.c_norm * self.hoffman.lower * self.rho


def paper_bound(
    program: dp.ParametricLP,
    values: Floats,
    *,
    budget: dp.PrivacyBudget,
    alphas: Mapping[str, Fraction] | None = None,
    form: str = "repaired",
    hoffman: HoffmanConstant | None = None,
) -> PaperBound:
    """The paper's accuracy theorem for Algorithm 1.

    Parameters
    ----------
    form : {"repaired", "printed", "printed-slater"}
        ``printed-slater`` is the printed ρ with only Λ repaired, so that it is finite.
    hoffman : HoffmanConstant, optional
        H when already known; it does not depend on the budget.
    """
    case = StandardForm.of(program, values, budget=budget, alphas=alphas)
    H = optimality_constant(case) if hoffman is None else hoffman
    pick = {"repaired": _repaired, "printed": _printed, "printed-slater": _printed_slater}
    chi, dual, rho_noise, rho_envelope = pick[form](case)
    size = float(np.linalg.norm(case.c))
    return PaperBound(form, chi, dual, rho_noise, rho_envelope, H, size)


def optimality_constant(case: StandardForm) -> HoffmanConstant:
    """H(G, C) of the optimality system, with the right signs."""
    G, C = optimality_system(case.A, case.b, case.c)
    return hoffman_constant(G, C)


def optimality_system(
    A: Floats, b: Floats, c: Floats, *, printed: bool = False
) -> tuple[Floats, Floats]:
    """G and C of ``lem:perturbation``; `printed` keeps the paper's signs."""
    m, n = A.shape
    sign = -1.0 if printed else 1.0
    G = np.block(
        [
            [sign * A, np.zeros((m, m))],
            [np.zeros((n, n)), -sign * A.T],
            [-np.eye(n), np.zeros((n, m))],
            [np.zeros((m, n)), -np.eye(m)],
        ]
    )
    return G, np.concatenate([c, -b])[None]


def _printed(case: StandardForm) -> tuple[float, float, float, float]:
    """Λ literally: the slack in its denominator is taken at the solution."""
    slack = float((case.b - case.A @ case.solution).min())
    gain = float(case.c @ (case.solution - case.slater))
    dual = gain / slack if slack > 1e-9 * (1.0 + np.abs(case.b).max()) else math.inf
    return _printed_rho(case, dual)


def _printed_slater(case: StandardForm) -> tuple[float, float, float, float]:
    gain = float(case.c @ (case.solution - case.slater))
    return _printed_rho(case, gain / case.slater_slack)


def _printed_rho(case: StandardForm, dual: float) -> tuple[float, float, float, float]:
    m, n = case.A.shape
    chi = float(case.solution.max())
    s_A, s_b, n_i, m_j, n_c = case.s_A, case.s_b, case.per_row, case.per_column, case.num_c
    var_A, var_b, var_c = (2 * sigma**2 for sigma in (case.sigma_A, case.sigma_b, case.sigma_c))
    noise = (
        m * (var_b + s_b**2)
        + 2 * s_b * chi * (n_i * s_A).sum()
        + dual**2 * (var_b + s_b**2)
        + chi**2 * (n_i * var_A + (n_i * s_A) ** 2).sum()
        + n_c * var_c
        + m * dual**2 * (m_j * var_A + (m_j * s_A) ** 2).sum()
        + chi**2 * n_c * var_c
    )
    far_A = float(np.linalg.norm(case.A_sup - case.A))
    far_b = float(np.linalg.norm(case.b_sup - case.b))
    first = [
        math.sqrt(n) * far_A * chi,
        math.sqrt(m) * far_A * dual,
        2 * math.sqrt(n) * case.sigma_c * chi,
    ]
    second = [far_b, 2 * case.sigma_c, math.sqrt(m) * far_b * dual]
    return chi, dual, math.sqrt(noise), float(np.linalg.norm(first) + np.linalg.norm(second))


def _repaired(case: StandardForm) -> tuple[float, float, float, float]:
    terms = repaired_terms(case)
    rho_noise = math.sqrt(terms["dual"] + terms["gap"])
    dual = math.sqrt(terms["dual_bound_squared"])
    chi, n, n_c = float(case.chi.max(initial=0.0)), case.A.shape[1], case.num_c
    root = math.sqrt(2 * n_c) * case.sigma_c
    far_A = float(np.linalg.norm(case.A_sup - case.A))
    far_b = float(np.linalg.norm(case.b - case.b_inf))
    first = [far_A * dual, math.sqrt(n) * chi * root]
    second = [root, far_b * dual]
    return chi, dual, rho_noise, float(np.linalg.norm(first) + np.linalg.norm(second))


def repaired_terms(case: StandardForm) -> dict[str, float]:
    """Bounds of the mean squares: of Λ, of the dual residual and of the duality gap."""
    chi, sigc = float(case.chi.max(initial=0.0)), case.sigma_c
    w = np.maximum(case.slater, case.chi - case.slater)[case.mask_c]
    gain = float(case.c @ (case.solution - case.slater))
    mean, square = sigc * w.sum(), sigc**2 * (w.sum() ** 2 + (w**2).sum())
    dual_squared = (gain**2 + 2 * gain * mean + square) / case.slater_slack**2
    m_j, n_c, m_b = case.per_column, case.num_c, case.num_b
    spread_A = float((m_j * case.var_A + (m_j * case.s_A) ** 2).sum())
    spread_b = m_b * case.var_b + (m_b * case.s_b) ** 2
    return {
        "dual_bound_squared": dual_squared,
        "dual": 2 * (2 * n_c * sigc**2) + 2 * dual_squared * spread_A,
        "gap": 2 * chi**2 * (n_c**2 + n_c) * sigc**2 + 2 * dual_squared * spread_b,
    }
