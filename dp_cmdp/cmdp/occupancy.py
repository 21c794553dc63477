"""Occupancy measures: the variables of the CMDP's linear program.

x(s, a) = E[Σ_t γ^t 1{s_t = s, a_t = a}] for s_0 ~ μ. The measures that some policy attains are
the x ≥ 0 with

    Σ_a x(s', a) − γ Σ_{s,a} T(s, a, s')·x(s, a) = μ(s')      for every state s',

so Σx = 1/(1 − γ); rewards and costs are linear in x. The measure already holds the γ^t: a
constraint row is Σ f_i(s, a)x(s, a) ≤ f0_i with no further discount. Back to a policy:
π(a|s) = x(s, a)/Σ_a' x(s, a'), where the state is visited at all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dp_cmdp import _check
from dp_cmdp._check import FloatArray
from dp_cmdp._door import door
from dp_cmdp.cmdp.chain import DiscountedChain
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.safest import safest_policy
from dp_cmdp.errors import InvalidArgumentError

#: Occupancies below this fraction of Σx are a solver's noise.
NOISE = 1e-12


@door
def flow_matrix(cmdp: CMDP) -> sparse.csr_array:
    """The matrix F of the flow equations F x = μ.

    Returns
    -------
    (num_states, num_states·num_actions) CSR array
        Column s·num_actions + a is e_s − γ·T(s, a, ·).

    Notes
    -----
    **Paper.** The equality rows of the occupancy LP in the CMDP section. **Privacy.** *Public*.
    """
    pairs = cmdp.num_states * cmdp.num_actions
    leaving = sparse.csr_array(
        (np.ones(pairs), np.arange(pairs), np.arange(0, pairs + 1, cmdp.num_actions)),
        shape=(cmdp.num_states, pairs),
    )
    return _check.frozen_sparse(sparse.csr_array(leaving - cmdp.gamma * cmdp.T.T))


@door
def occupancy_of(cmdp: CMDP, policy: Policy) -> FloatArray:
    """The (num_states, num_actions) occupancy measure of `policy`, by a sparse solve.

    Notes
    -----
    **Privacy.** *Public*: transitions and start are.

    Examples
    --------
    >>> from dp_cmdp import CMDP, Policy
    >>> from dp_cmdp.cmdp.occupancy import occupancy_of
    >>> cmdp = CMDP([[[1.0], [1.0]]], [[1, 0]], f=[[1, 0]], f0=[1], mu=[1], gamma=0.5)
    >>> occupancy_of(cmdp, Policy([[0.25, 0.75]])).round(6)
    array([[0.5, 1.5]])
    """
    visits = np.maximum(DiscountedChain(cmdp, policy).visits(cmdp.mu), 0.0)
    return _check.frozen(visits[:, None] * policy.probs)


@door
def policy_from_occupancy(cmdp: CMDP, x: ArrayLike, *, noise: float = NOISE) -> Policy:
    """Read a policy off an occupancy measure, with the safest action where it says nothing.

    Parameters
    ----------
    cmdp : CMDP
        The model whose linear program `x` solves (approximately).
    x : (num_states, num_actions) or flat, in the order state·num_actions + action
        Entries of at most `noise`·Σx, and negative ones, count as zero.
    noise : float, default 1e-12
        In [0, 1).

    Returns
    -------
    Policy
        π(a|s) = x(s, a)/Σ_a' x(s, a') in states that keep an entry. The others are visited rarely
        or never; they take the action of :func:`dp_cmdp.cmdp.safest.safest_policy`, which depends
        on public data only and not on the solver's noise.

    Notes
    -----
    Dropping entries changes the policy a little, so nothing is claimed here about its costs:
    :func:`dp_cmdp.cmdp.certificate.certify_policy` judges the policy itself.

    **Paper.** The ratio below the CMDP's linear program, completed where it is 0/0.
    **Privacy.** *Post-processing*.
    """
    share = _check.real("noise", noise, low=0.0, high=1.0)
    return policy_of(cmdp, _measure(cmdp, x), share=share)


def policy_of(cmdp: CMDP, table: FloatArray, *, share: float = NOISE) -> Policy:
    """:func:`policy_from_occupancy` of a table known to be finite, as solvers return it."""
    kept = np.maximum(table, 0.0)
    mass = kept.sum()
    kept[kept <= share * mass] = 0.0
    total = kept.sum(axis=1)
    silent = total == 0.0
    if silent.all():
        raise InvalidArgumentError(
            f"x must have an entry above noise·Σx = {share:g}·{mass:.3g}; it has none"
        )
    if silent.any():
        kept[silent], total[silent] = safest_policy(cmdp).probs[silent], 1.0
    kept /= total[:, None]
    return Policy(kept)


def _measure(cmdp: CMDP, x: ArrayLike) -> FloatArray:
    flat = _check.array("x", x)
    if flat.shape not in (cmdp.r.shape, (cmdp.r.size,)):
        raise InvalidArgumentError(
            f"x must have shape {cmdp.r.shape} or ({cmdp.r.size},), got {flat.shape}"
        )
    _check.reject_non_finite("x", flat.ravel())
    return flat.reshape(cmdp.r.shape)
