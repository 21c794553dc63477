"""The mean loss from optimising a noisy objective, bounded by prices of the constraints.

For every τ ≥ 0 and prices λ, λ̃ ≥ 0 (free for equalities) of the true rows and of the *released
rows*, with k(N) = (τ − 1)c + τe − Aᵀλ − Ãᵀλ̃ and χ⁻ ≤ x ≤ χ⁺ (``docs/theory.md``, section 5),

    cᵀx* − cᵀx̃  ≤  cᵀx* − τ c̃ᵀy + λᵀb + λ̃ᵀb̃ + kᵀχ⁻ + Σ_j k_j⁺ (χ⁺_j − χ⁻_j).

The mean needs E k_j(N)⁺ only (:mod:`paper.bounds.positive_part`) and is convex in (λ, λ̃, τ); any
choice is a valid bound, the one found by a quasi-Newton method is nearly the best. The released
rows use the ends of the entries that the objective reads and the true values of all others. A
coordinate that reads several entries is split evenly among those of its objective: (Σu)⁺ ≤ Σu⁺.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse

from paper.blocks import at_places
from paper.bounds.noise import ReleaseNoise
from paper.bounds.positive_part import EntryNoise
from paper.linear import Floats, Integers, LinearProgram


@dataclass(frozen=True, slots=True, eq=False)
class PricedError:
    """The bound E[gap] ≤ optimum − τ(c + E e)ᵀy + (priced maximum), by prices and τ."""

    noise: ReleaseNoise
    entries: Floats
    truth: LinearProgram
    optimum: float
    span: tuple[Floats, Floats]  # χ⁻, χ⁺ of the coordinates

    def best(self, gain: float) -> float:
        """The smallest bound found; `gain` is (c + E e)ᵀy of the comparison point y.

        ∞ when a coordinate is unbounded.
        """
        if not np.isfinite(self.span[1]).all() or not np.isfinite(self.span[0]).all():
            return float("inf")
        terms = _Terms.of(self)
        size = max(abs(self.optimum), 1e-300)
        unit = np.where(terms.sides == 0, 1.0, np.abs(terms.sides)) / size  # comparable prices

        def value(point: Floats) -> tuple[float, Floats]:
            prices, tau = point[:-1] / unit, point[-1]
            total, by_prices, by_tau = terms.maximum(tau, prices)
            slope = np.append(by_prices / unit, by_tau - gain)
            return (self.optimum - tau * gain + total) / size, slope / size

        free = np.zeros(unit.size, dtype=bool)
        free[self.truth.b.size : self.truth.b.size + self.truth.b_eq.size] = True
        limits = [(None if part else 0.0, None) for part in free]
        start = np.append(np.zeros(unit.size), 1.0)
        found = optimize.minimize(
            value, start, jac=True, method="L-BFGS-B", bounds=[*limits, (0.0, None)]
        )
        return size * min(value(start)[0], value(found.x)[0])


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """What the entries of the objective do to the coordinates, one term per (coordinate, entry)."""

    case: PricedError
    noise: EntryNoise
    coordinate: Integers
    weight: Floats  # h: the term adds τ h e to its coordinate
    share: Floats  # of the coordinate's certain part; 0 where the objective has no such term
    unread: Integers  # coordinates without any term of the objective
    rows: sparse.csr_array  # true rows, equalities, and the true part of released rows
    sides: Floats  # and their right-hand sides; mean ones of released rows
    raised: tuple[sparse.csr_array, sparse.csr_array]  # per term: what a released row adds to q, r
    means: tuple[Floats, Floats, Floats]  # E e, E U, E D per term

    @classmethod
    def of(cls, case: PricedError) -> _Terms:
        objective, rows = case.noise.part.c, _ReleasedRows.of(case)
        size = case.entries.size
        keys, place = np.unique(
            np.concatenate([objective.row * size + objective.entry, rows.col * size + rows.entry]),
            return_inverse=True,
        )
        own, other = place[: objective.row.size], place[objective.row.size :]
        weight = np.zeros(keys.size)
        np.add.at(weight, own, objective.coefficient)
        ours = np.zeros(keys.size, dtype=bool)
        ours[own] = True
        coordinate, which = keys // size, keys % size
        count = np.bincount(coordinate[ours], minlength=case.truth.c.size)
        shape = (keys.size, rows.number.size)
        up, down = case.noise.error_means(case.entries)
        ends = _end_means(case)
        true, truth = rows.number, case.truth
        return cls(
            case=case,
            noise=EntryNoise.of(case.noise, case.entries, which=which),
            coordinate=coordinate,
            weight=weight,
            share=np.where(ours, 1.0 / np.maximum(count[coordinate], 1), 0.0),
            unread=np.flatnonzero(count == 0),
            rows=sparse.vstack([truth.A, truth.A_eq, truth.A[true]], format="csr"),
            sides=np.concatenate([truth.b, truth.b_eq, truth.b[true] + rows.shift]),
            raised=(rows.matrix(other, shape, up=True), rows.matrix(other, shape, up=False)),
            means=((up - down)[which], ends[0][which], ends[1][which]),
        )

    def maximum(self, tau: float, prices: Floats) -> tuple[float, Floats, float]:
        """Mean of the priced maximum, its slopes in the prices and in τ."""
        truth, (low, high) = self.case.truth, self.case.span
        kappa = (tau - 1.0) * truth.c - prices @ self.rows
        width = high - low
        last = prices[prices.size - self.raised[0].shape[1] :]
        q, r = (part @ last for part in self.raised)
        at, wide = low[self.coordinate], width[self.coordinate]
        drift, up, down = self.means
        found = self.noise.positive_part(
            kappa[self.coordinate] * self.share, p=tau * self.weight, q=q, r=r
        )
        total = float(
            prices @ self.sides
            + kappa @ low
            + (tau * self.weight * drift - q * up + r * down) @ at
            + np.maximum(kappa[self.unread], 0.0) @ width[self.unread]
            + found.mean @ wide
        )
        chosen = np.bincount(
            self.coordinate, weights=found.chance * self.share, minlength=kappa.size
        )
        chosen[self.unread] = kappa[self.unread] > 0
        by_kappa = low + chosen * width
        by_prices = self.sides - self.rows @ by_kappa
        by_prices[prices.size - last.size :] += self.raised[1].T @ (down * at + found.down * wide)
        by_prices[prices.size - last.size :] -= self.raised[0].T @ (up * at + found.up * wide)
        by_tau = truth.c @ by_kappa + self.weight @ (drift * at + found.error * wide)
        return total, by_prices, float(by_tau)


@dataclass(frozen=True, slots=True, eq=False)
class _ReleasedRows:
    """The sensitive rows at the harmful ends of the entries that the objective reads."""

    number: Integers  # of the rows that read such entries
    row: Integers  # place in `number`, per term g of A
    col: Integers
    entry: Integers
    coefficient: Floats
    up: np.ndarray  # is the harmful end the upper one?
    shift: Floats  # of the mean right-hand side

    @classmethod
    def of(cls, case: PricedError) -> _ReleasedRows:
        part = case.noise.part
        A, b = part.A, part.b
        read = np.zeros(case.entries.size, dtype=bool)
        read[part.c.entry] = True
        of_A, of_b = read[A.entry], read[b.entry]
        number = np.unique(A.row[of_A])
        of_b &= np.isin(b.row, number)
        w = part.weights((case.span[0] + case.span[1]) / 2)
        ends = _end_means(case)
        moved = np.where(at_places(w, b.row, b.entry) > 0, ends[0][b.entry], -ends[1][b.entry])[
            of_b
        ]
        shift = np.zeros(A.shape[0])
        np.add.at(shift, b.row[of_b], b.coefficient[of_b] * moved)
        return cls(
            number,
            np.searchsorted(number, A.row[of_A]),
            A.col[of_A],
            A.entry[of_A],
            A.coefficient[of_A],
            at_places(w, A.row, A.entry)[of_A] > 0,
            shift[number],
        )

    def matrix(self, place: Integers, shape: tuple[int, int], *, up: bool) -> sparse.csr_array:
        """Per term and row: by how much a price of 1 raises q (ends up) or r (ends down)."""
        part = self.up == up
        where = (place[part], self.row[part])
        return sparse.csr_array((self.coefficient[part], where), shape=shape)


def _end_means(case: PricedError) -> tuple[Floats, Floats]:
    """Mean distances of the upper and the lower ends; 0 where noise has no bound."""
    noise = case.noise
    up, down = noise.room(case.entries)
    found = noise.law.end_mean(up), noise.law.end_mean(down)
    bounded = np.isfinite(noise.law.support)
    return np.where(bounded, found[0], 0.0), np.where(bounded, found[1], 0.0)
