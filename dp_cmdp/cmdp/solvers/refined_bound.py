"""The Lagrangian bound in extended precision, where rounding in doubles is all that is left of it.

At a tolerance that only the safest policies keep, the multiplier λ may be as large as one likes,
and so may the values v of the reward r − λᵀf. Their rounding, times 1/(1 − γ), can then exceed the
gap that is asked for. Here v is a sum of a double and a correction found by iterative refinement
(residuals in :data:`numpy.longdouble`, solves in double), so that

    optimum ≤ μᵀv + max_{s,a} δ(s, a)/(1 − γ) + λᵀf0,    δ = r − λᵀf + γ T v − v,

holds for v as it stands, and v is as good as extended precision allows. Where the platform's long
double is a double (as on ARM), nothing is gained and nothing is lost.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from dp_cmdp._check import FloatArray

#: Larger models are not factorised.
STATES = 5_000
#: Improvements of the policy, and refinements of its values, at most.
IMPROVEMENTS, BOUND_REFINEMENTS = 20, 3


def refined_bound(
    T: sparse.csr_array,
    r: FloatArray,
    *,
    f: FloatArray,
    f0: FloatArray,
    dual: FloatArray,
    mu: FloatArray,
    gamma: float,
    v: FloatArray,
) -> float:
    """The bound at λ = `dual`, from a guess `v`; ∞ where the model is too large.

    Parameters
    ----------
    T : (pairs, num_states)
    r, f : (pairs,) and (K, pairs)
    f0, dual : (K,)
    v : (num_states,)
        Values for r − λᵀf, roughly.

    Notes
    -----
    **Privacy.** *Post-processing* of `f` and `f0`.
    """
    num_states = mu.size
    if num_states > STATES:
        return np.inf
    multiplier = dual.astype(np.longdouble)
    reward = r - multiplier @ f
    best, values, policy = np.inf, v.astype(np.longdouble), np.full(num_states, -1)
    for _ in range(IMPROVEMENTS):
        delta = _residual(T, reward, gamma=gamma, v=values)
        upper = certain_bound(T, r, f=f, dual=dual, mu=mu, gamma=gamma, v=values, paid=f0)
        best, greedy = min(best, upper), delta.argmax(axis=1)
        if np.array_equal(greedy, policy):
            break
        policy = greedy
        values = _refined(T, reward, gamma=gamma, policy=policy, v=values)
    return best


def certain_bound(
    T: sparse.csr_array,
    r: np.ndarray,
    *,
    f: FloatArray,
    dual: FloatArray,
    mu: FloatArray,
    gamma: float,
    v: np.ndarray,
    paid: FloatArray,
) -> float:
    """μᵀv + λᵀf0 + max δ Σγᵗ with every rounding allowed for; ∞ where Σγᵗ may be."""
    multiplier, discount = dual.astype(np.longdouble), np.longdouble(gamma)
    unit, states = np.finfo(np.longdouble).eps, np.repeat(np.arange(mu.size), T.shape[0] // mu.size)
    values, length, largest = v.astype(np.longdouble), np.diff(T.indptr), np.abs(v).max()
    delta = r - multiplier @ f + discount * row_sums(T, values) - values[states]
    off = (length + dual.size + 9) * unit
    delta = delta + off * (np.abs(r) + multiplier @ np.abs(f) + 3 * largest)
    sums, most = row_sums(T, np.ones(mu.size, np.longdouble)), delta.max()
    edge = (sums * (1 + off)).max() if most > 0 else (sums * (1 - off)).min()
    start, slack = mu.astype(np.longdouble), (mu.size + 8) * unit
    left = 1 - discount * edge - (4 * unit if most > 0 else -4 * unit)
    if not left > 0:
        return np.inf
    visits = start.sum() / left * (1 + slack if most > 0 else 1 - slack)
    bound = start @ values + most * visits + multiplier @ paid
    bound += slack * largest * start.sum()
    bound += (dual.size + 2) * unit * (multiplier @ np.abs(paid) + np.abs(bound))
    return float(np.nextafter(float(bound), np.inf))


def row_sums(T: sparse.csr_array, v: np.ndarray) -> np.ndarray:
    """T v, every product and sum in long double."""
    terms = T.data * v[T.indices]
    sums = np.zeros(T.shape[0], np.longdouble)
    filled = np.flatnonzero(np.diff(T.indptr))
    sums[filled] = np.add.reduceat(terms, T.indptr[filled]) if filled.size else 0.0
    return sums


def _residual(
    T: sparse.csr_array, reward: np.ndarray, *, gamma: float, v: np.ndarray
) -> np.ndarray:
    """δ(s, a) in long double."""
    return (reward + np.longdouble(gamma) * row_sums(T, v)).reshape(v.size, -1) - v[:, None]


def _refined(
    T: sparse.csr_array, reward: np.ndarray, *, gamma: float, policy: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """The values of `policy`, refined from `v`."""
    states = np.arange(v.size)
    rows = states * (reward.size // v.size) + policy
    chain = sparse.eye_array(v.size, format="csc") - gamma * cast(sparse.csr_array, T[rows])
    factors = linalg.splu(sparse.csc_array(chain))
    for _ in range(BOUND_REFINEMENTS):
        residual = _residual(T, reward, gamma=gamma, v=v)[states, policy]
        v = v + factors.solve(residual.astype(np.float64))
    return v
