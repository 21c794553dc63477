"""The mean loss from optimising a noisy objective, bounded by prices of the constraints.

The private answer x̃ ∈ X maximises c̃ = c + e over a set that contains y, so c̃ᵀ(x̃ − y) ≥ 0 and, for
every τ ≥ 0,

    cᵀx* − cᵀx̃  ≤  cᵀx* − τ c̃ᵀy + max_{x ∈ X} ((τ − 1)c + τe)ᵀx.

Weak duality bounds the maximum: for prices λ ≥ 0 of A x ≤ b (free for equalities) and
χ⁻ ≤ x ≤ χ⁺ on X, with κ = (τ − 1)c − Aᵀλ,

    max_{x ∈ X} ((τ − 1)c + τe)ᵀx  ≤  λᵀb + (κ + τe)ᵀχ⁻ + Σ_j (κ_j + τe_j)⁺ (χ⁺_j − χ⁻_j).

Prices and τ are fixed before the noise is drawn, so the mean of the right-hand side needs only
E(e_k − a)⁺ of single entries, which is known in closed form. The mean is convex in (λ, τ); any pair
is a valid bound, and the pair found by a quasi-Newton method is nearly the best. τ = 1, λ = 0
gives the coordinatewise bound Σ_k E e_k⁺(χ⁺_k − y_k) + E e_k⁻(y_k − χ⁻_k).
A coordinate that reads several entries is split evenly among them: (Σu)⁺ ≤ Σu⁺.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse

from dp_cmdp._check import FloatArray
from dp_cmdp.affine import Affine, IntArray
from dp_cmdp.lp import LinearProgram
from dp_cmdp.theory.reach import Reach


@dataclass(frozen=True, slots=True, eq=False)
class PricedError:
    """The bound E[gap] ≤ optimum − τ(c + E e)ᵀy + (priced maximum), as a function of (λ, τ).

    Notes
    -----
    **Paper.** Ours. **Privacy.** *Curator only.*
    """

    noise: Reach
    entries: FloatArray
    truth: LinearProgram
    optimum: float
    span: tuple[FloatArray, FloatArray]  # χ⁻, χ⁺ of the coordinates

    def best(self, gain: float) -> float:
        """The smallest bound found; `gain` is (c + E e)ᵀy of the comparison point y.

        ∞ when a coordinate is unbounded.
        """
        if not np.isfinite(self.span[1]).all() or not np.isfinite(self.span[0]).all():
            return float("inf")
        rows = sparse.vstack([self.truth.A, self.truth.A_eq], format="csr")
        sides = np.concatenate([self.truth.b, self.truth.b_eq])
        size = max(abs(self.optimum), 1e-300)
        unit = np.where(sides == 0, 1.0, np.abs(sides)) / size  # prices in comparable units
        terms = _Terms.of(self)

        def value(point: FloatArray) -> tuple[float, FloatArray]:
            prices, tau = point[:-1] / unit, point[-1]
            total, by_kappa, by_tau = terms.maximum(tau, prices @ rows)
            slope = np.append((sides - rows @ by_kappa) / unit, by_tau - gain)
            return (self.optimum - tau * gain + prices @ sides + total) / size, slope / size

        limits = [(0.0, None)] * self.truth.b.size + [(None, None)] * self.truth.b_eq.size
        start = np.append(np.zeros(sides.size), 1.0)
        found = optimize.minimize(
            value, start, jac=True, method="L-BFGS-B", bounds=[*limits, (0.0, None)]
        )
        return size * min(value(start)[0], value(found.x)[0])


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """The objective's terms h·e_k, one per (coordinate, entry)."""

    case: PricedError
    objective: Affine
    share: FloatArray  # 1/number of terms of the coordinate, per term
    bare: IntArray  # coordinates without any term

    @classmethod
    def of(cls, case: PricedError) -> _Terms:
        objective = case.noise.target.c
        count = np.bincount(objective.row, minlength=objective.shape[0])
        return cls(case, objective, 1.0 / count[objective.row], np.flatnonzero(count == 0))

    def maximum(self, tau: float, priced: FloatArray) -> tuple[float, FloatArray, float]:
        """Mean of (κ + τe)ᵀχ⁻ + Σ(κ + τe)⁺(χ⁺ − χ⁻); −∂/∂(Aᵀλ) and ∂/∂τ of it."""
        case, part = self.case, self.objective
        low, high = case.span
        kappa = (tau - 1.0) * case.truth.c - priced
        up, down = case.noise.error_means(case.entries)
        drift = np.bincount(
            part.row, weights=part.coefficient * (up - down)[part.entry], minlength=kappa.size
        )
        width = high - low
        total = (kappa + tau * drift) @ low + np.maximum(kappa[self.bare], 0.0) @ width[self.bare]
        chosen = np.zeros(kappa.size)  # P(κ + τe > 0), per coordinate
        chosen[self.bare] = kappa[self.bare] > 0
        each, probability, by_tau = self._positive_parts(tau, kappa)
        total += each @ width[part.row]
        chosen += np.bincount(part.row, weights=probability * self.share, minlength=kappa.size)
        by_kappa = low + chosen * width
        slope_tau = drift @ low + case.truth.c @ by_kappa + by_tau @ width[part.row]
        return float(total), by_kappa, float(slope_tau)

    def _positive_parts(
        self, tau: float, kappa: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Per term: E(κ/m + τhe)⁺, P(κ/m + τhe > 0), and E[he; κ/m + τhe > 0]."""
        part, case = self.objective, self.case
        constant = kappa[part.row] * self.share
        factor = tau * np.abs(part.coefficient)
        if tau <= 0:
            sure = np.where(constant > 0, 1.0, 0.0)
            return np.maximum(constant, 0.0), sure, np.zeros(constant.size)
        threshold = -constant / factor
        mean, probability = case.noise.excess(
            case.entries, part.entry, threshold=threshold, sign=np.sign(part.coefficient)
        )
        by_tau = (factor * mean - constant * probability) / tau
        return factor * mean, probability, by_tau
