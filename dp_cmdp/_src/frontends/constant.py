"""A constant in the objective of a linear program: a last variable, fixed at 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from dp_cmdp._src.data.affine import Affine
from dp_cmdp._src.data.labels import labels_of
from dp_cmdp._src.program.parametric import ParametricLP

#: The name of the variable, if the others have names.
CONSTANT = "(constant)"


def with_constant(program: ParametricLP, constant: Any) -> ParametricLP:
    """The same program with a constant, which may read the database, in its objective."""
    n, envelope = program.lower.size, program.envelope
    added = Affine.of(constant, envelope).reshape(1)
    c = program.objective
    objective = Affine._of(
        envelope,
        (n + 1,),
        np.concatenate([c.row, added.row + n]),
        np.concatenate([c.col, added.col]),
        np.concatenate([c.entry, added.entry]),
        np.concatenate([c.coefficient, added.coefficient]),
        sparse.vstack([c.constant, added.constant]),
    )
    A, A_eq = program.A, program.A_eq
    terms = A.row, A.col, A.entry, A.coefficient
    wide = sparse.csr_array(
        (A.constant.data, A.constant.indices, A.constant.indptr), (A.shape[0], n + 1)
    )
    variables = program.variables
    if variables:
        named = {variables[0].name or "column": [*variables[0].tolist(), CONSTANT]}
        variables = labels_of(named, name="variables")
    return program._with(
        objective=objective,
        A=Affine._of(envelope, (A.shape[0], n + 1), *terms, wide),
        A_eq=sparse.csr_array((A_eq.data, A_eq.indices, A_eq.indptr), (A_eq.shape[0], n + 1)),
        lower=np.append(program.lower, 1.0),
        upper=np.append(program.upper, 1.0),
        variables=variables,
    )
