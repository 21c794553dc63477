"""The elastic program: by how much must rows give way until a point satisfies them all?

It has a solution whatever the rows say, so that it settles the feasibility of programs on which
the solver has no verdict.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dp_cmdp._check import FloatArray
from dp_cmdp.program.linear_program import LinearProgram


def elastic_program(
    A: sparse.csr_array,
    b: FloatArray,
    *,
    A_eq: sparse.csr_array,
    b_eq: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> LinearProgram:
    """max −Σ(s + p + q), A x − s ≤ b, A_eq x + p − q = b_eq, lower ≤ x ≤ upper, s, p, q ≥ 0."""
    m, k, n = b.size, b_eq.size, lower.size
    give = m + 2 * k
    signs = sparse.hstack([sparse.csr_array((k, m)), sparse.eye_array(k), -sparse.eye_array(k)])
    return LinearProgram(
        np.concatenate([np.zeros(n), -np.ones(give)]),
        sparse.hstack([A, -sparse.eye_array(m, give)]),
        b=b,
        A_eq=sparse.hstack([A_eq, signs]),
        b_eq=b_eq,
        lower=np.concatenate([lower, np.zeros(give)]),
        upper=np.concatenate([upper, np.full(give, np.inf)]),
    )
