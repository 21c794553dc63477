"""One door to both CMDP engines.

``"policies"`` (:mod:`dp_cmdp.cmdp.solvers.pool`) mixes policies in compiled code, by Newton's
method; ``"lp"`` (:mod:`dp_cmdp.cmdp.solvers.lp_engine`) solves the occupancy program in HiGHS. Both
return a certified gap. ``"auto"`` takes policies where the compiled kernels are at hand, and the
linear program where they are not. Where rounding does not let policies reach the gap, they hand
over to the linear program themselves; the answer says which engine found it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dp_cmdp import _check
from dp_cmdp._door import door
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.solvers.compiled import kernels, required
from dp_cmdp.cmdp.solvers.lp_engine import solve_lp
from dp_cmdp.cmdp.solvers.pool import PolicyPool
from dp_cmdp.cmdp.solvers.solution import CMDPSolution, reject_beyond
from dp_cmdp.errors import InvalidArgumentError

ENGINES = ("auto", "policies", "lp")


@door
def solve_cmdp(
    cmdp: CMDP,
    *,
    engine: str = "auto",
    gap: float = 1e-8,
    margin: ArrayLike = 0.0,
    pool: PolicyPool | None = None,
) -> CMDPSolution:
    """An optimal occupancy measure, with a certified duality gap.

    Parameters
    ----------
    cmdp : CMDP
    engine : {"auto", "policies", "lp"}
    gap : float, default 1e-8
        Largest accepted (upper bound − value)/max(|value|, max|r|).
    margin : float or (K,), default 0
        Subtracted from the tolerances f0 before solving, so that a proven bound on the costs of
        the extracted policy, rounding included, can still come out below f0.
    pool : PolicyPool, optional
        Policies of earlier solves with the same dynamics, reward, start and discount; it learns
        from this one.

    Returns
    -------
    CMDPSolution

    Raises
    ------
    InfeasibleError
        No policy keeps the tolerances; its `ray` and `violation` are the proof.
    ConvergenceError
        The gap could not be reached in double precision, with ``"auto"`` by neither engine.

    Notes
    -----
    **Paper.** ``def:cmdp``. **Privacy.** *Post-processing* when `cmdp` was built from a Release;
    curator only otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_cmdp import CMDP, solve_cmdp
    >>> T = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]])  # action 1 changes the state
    >>> r = f = np.array([[0, 0], [1, 1]])
    >>> solution = solve_cmdp(CMDP(T, r, f=f, f0=[0.5], mu=[1, 0], gamma=0.5))
    >>> round(solution.value, 6), solution.gap <= 1e-8
    (0.5, True)
    """
    _check.one_of("engine", engine, ENGINES)
    accuracy = _check.real("gap", gap, low=0.0)
    with np.errstate(over="ignore"):  # refused in the next line
        b = cmdp.f0 - _check.vector("margin", margin, size=cmdp.num_constraints)
    _check.reject_non_finite("f0 less margin", b)
    if pool is not None and engine == "lp":
        raise InvalidArgumentError("pool serves engine='policies'; drop it for engine='lp'")
    if pool is not None and not pool.fits(cmdp):
        raise InvalidArgumentError("pool must have been built for the T, r, mu and gamma of cmdp")
    if engine == "policies":
        required()
    if engine == "lp" or (engine == "auto" and pool is None and kernels() is None):
        for name, table in (("r", cmdp.r), ("f", cmdp.f)):  # a pool looks at them itself
            reject_beyond(name, table, gamma=cmdp.gamma)
        return solve_lp(cmdp, b, gap=accuracy)
    return (PolicyPool(cmdp) if pool is None else pool).solve(cmdp.f, b, gap=accuracy)
