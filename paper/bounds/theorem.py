"""The paper's accuracy theorem, as printed and as repaired: E[cᵀx* − cᵀx̃] ≤ ‖c‖₂ · H(G, C) · ρ.

H is the Hoffman constant of the optimality system in z = (x, μ), into which the private pair is
put; ρ bounds the root mean square of what remains, by the noise (case i) or by the envelope (case
ii). The *repaired* ρ is proved in ``docs/theory.md``, section 6. The *printed* one keeps every slip
of the paper (section 9); its Λ divides by the slack at an optimal point, which is 0 where a row
binds. Both are far above the truth: :func:`paper.bounds.accuracy.accuracy_bound` is the one to use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import dp_cmdp as dp
from paper.blocks import equal_shares, form
from paper.bounds.hoffman import hoffman_constant
from paper.bounds.noise import Law, block_noise
from paper.linear import Floats, Integers, LinearProgram, coordinate_ranges, solve


@dataclass(frozen=True, slots=True, eq=False)
class StandardForm:
    """A true program in standard form, its extremes, and the noise it would meet."""

    A: Floats
    b: Floats
    c: Floats
    A_sup: Floats  # Â
    b_inf: Floats
    b_sup: Floats  # the paper's b̂
    per_row: Integers  # n⁰_i: perturbed entries per row of A
    per_column: Integers  # m⁰_j: and per column
    num_b: int
    read_c: Integers  # perturbed entries of c
    noise: dict[str, tuple[float, float]]  # σ and s of A and b, σ of c
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
        box = part.envelope.lower, part.envelope.upper
        below = np.eye(part.num_variables)[np.isfinite(part.upper)]
        sides, truth = part.upper[np.isfinite(part.upper)], part.at(values)
        A = np.vstack([truth.A.toarray(), below])
        A_sup = np.vstack([part.A.extremes(*box)[1].toarray(), below])
        ends = (end.toarray().ravel() for end in part.b.extremes(*box))
        b_inf, b_sup = (np.concatenate([end, sides]) for end in ends)
        lp = LinearProgram.of(truth.c, A, np.concatenate([truth.b, sides]))
        row, col, _ = part.A.places
        slater, slack = _slater(A_sup, b_inf)
        nothing = dict.fromkeys("Abc", (0.0, 0.0))
        return cls(
            A=A,
            b=lp.b,
            c=lp.c,
            A_sup=A_sup,
            b_inf=b_inf,
            b_sup=b_sup,
            per_row=np.bincount(row, minlength=A.shape[0]),
            per_column=np.bincount(col, minlength=A.shape[1]),
            num_b=part.b.places[0].size,
            read_c=part.c.places[0],
            noise=nothing | block_noise(program, budget, alphas or equal_shares(part)),
            solution=solve(lp).x,
            chi=coordinate_ranges(lp)[1],
            slater=slater,
            slater_slack=slack,
        )

    @property
    def gain(self) -> float:
        """cᵀ(x* − ω)."""
        return float(self.c @ (self.solution - self.slater))


def _variance(sigma: float, s: float) -> float:
    return float(Law(np.array([sigma]), np.array([s])).variance[0]) if s else 0.0


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

    dual_bound: float  # Λ (repaired: its root mean square)
    rho_noise: float  # case (i)
    rho_envelope: float  # case (ii)
    hoffman: float
    c_norm: float

    @property
    def rho(self) -> float:
        """The smaller of both cases: the most that can be said for the theorem."""
        return min(self.rho_noise, self.rho_envelope)

    @property
    def value(self) -> float:
        """‖c‖·H·ρ."""
        return self.c_norm * self.hoffman * self.rho


def paper_bound(
    program: dp.ParametricLP,
    values: Floats,
    *,
    budget: dp.PrivacyBudget,
    alphas: Mapping[str, Fraction] | None = None,
    form: str = "repaired",
    hoffman: float | None = None,
) -> PaperBound:
    """The paper's accuracy theorem for Algorithm 1.

    Parameters
    ----------
    form : {"repaired", "printed", "printed-slater"}
        ``printed-slater`` is the printed ρ with only Λ repaired, so that it is finite.
    hoffman : float, optional
        H when already known; it does not depend on the budget.
    """
    case = StandardForm.of(program, values, budget=budget, alphas=alphas)
    H = hoffman_constant(*optimality_system(case.A, case.b, case.c)) if hoffman is None else hoffman
    found = _repaired(case) if form == "repaired" else _printed(case, form)
    return PaperBound(*found, H, float(np.linalg.norm(case.c)))


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


def _printed(case: StandardForm, form: str) -> tuple[float, float, float]:
    """Λ and both ρ; literally, Λ divides by the slack at the solution."""
    if form == "printed-slater":
        dual = case.gain / case.slater_slack
    else:
        slack = float((case.b - case.A @ case.solution).min())
        dual = case.gain / slack if slack > 1e-9 * (1.0 + np.abs(case.b).max()) else math.inf
    m, n = case.A.shape
    chi, n_c, n_i, m_j = float(case.solution.max()), case.read_c.size, case.per_row, case.per_column
    s_A, s_b, sigma_c = case.noise["A"][1], case.noise["b"][1], case.noise["c"][0]
    var_A, var_b, var_c = (2 * case.noise[block][0] ** 2 for block in "Abc")
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
        2 * math.sqrt(n) * sigma_c * chi,
    ]
    second = [far_b, 2 * sigma_c, math.sqrt(m) * far_b * dual]
    return dual, math.sqrt(noise), float(np.linalg.norm(first) + np.linalg.norm(second))


def _repaired(case: StandardForm) -> tuple[float, float, float]:
    terms = repaired_terms(case)
    dual = math.sqrt(terms["dual_bound_squared"])
    chi, n = float(case.chi.max(initial=0.0)), case.A.shape[1]
    root = math.sqrt(2 * case.read_c.size) * case.noise["c"][0]
    far_A = float(np.linalg.norm(case.A_sup - case.A))
    far_b = float(np.linalg.norm(case.b - case.b_inf))
    first = [far_A * dual, math.sqrt(n) * chi * root]
    second = [root, far_b * dual]
    rho_noise = math.sqrt(terms["dual"] + terms["gap"])
    return dual, rho_noise, float(np.linalg.norm(first) + np.linalg.norm(second))


def repaired_terms(case: StandardForm) -> dict[str, float]:
    """Bounds of the mean squares: of Λ, of the dual residual and of the duality gap."""
    chi, sigma = float(case.chi.max(initial=0.0)), case.noise["c"][0]
    w = np.maximum(case.slater, case.chi - case.slater)[case.read_c]
    mean, square = sigma * w.sum(), sigma**2 * (w.sum() ** 2 + (w**2).sum())
    dual_squared = (case.gain**2 + 2 * case.gain * mean + square) / case.slater_slack**2
    s_A, s_b = (case.noise[block][1] for block in "Ab")
    var_A, var_b = (_variance(*case.noise[block]) for block in "Ab")
    m_j, n_c, m_b = case.per_column, case.read_c.size, case.num_b
    spread_A = float((m_j * var_A + (m_j * s_A) ** 2).sum())
    spread_b = m_b * var_b + (m_b * s_b) ** 2
    return {
        "dual_bound_squared": dual_squared,
        "dual": 2 * (2 * n_c * sigma**2) + 2 * dual_squared * spread_A,
        "gap": 2 * chi**2 * (n_c**2 + n_c) * sigma**2 + 2 * dual_squared * spread_b,
    }
