"""What a model in several parts would have to say: policy evaluation by blocks (Schwarz).

    python benchmarks/partition.py

The optimal policy of a model is evaluated, (I - γP)v = r, with the states cut into parts of
neighbouring numbers. Every part solves its own block exactly; values of the states that other parts
can reach in one step travel. Counted are rounds until the residual is 1e-8 of the reward: of block
Jacobi by itself, and of BiCGSTAB with the blocks as preconditioner, two rounds to a step. Nothing
is distributed here: rounds and bytes do not depend on where the blocks are.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, bicgstab, splu

from benchmarks.families import Case
from benchmarks.problems import grid_cmdp
from dp_cmdp.cmdp.chain import DiscountedChain
from dp_cmdp.cmdp.model import CMDP
from dp_cmdp.cmdp.policy import Policy
from dp_cmdp.cmdp.solvers.door import solve_cmdp

TOLERANCE = 1e-8
MOST = 5_000
PARTS = (2, 4, 16)


def heaviest(model: CMDP) -> DiscountedChain:
    """The chain of the heaviest policy of the optimal mixture."""
    found = solve_cmdp(model, engine="policies")
    assert found.policies is not None
    assert found.weights is not None
    actions = found.policies[int(np.argmax(found.weights))]
    return DiscountedChain(model, Policy.deterministic(actions, model.num_actions))


def blocks(matrix: sparse.csr_array, parts: int) -> Callable[[np.ndarray], np.ndarray]:
    """Solve every diagonal block."""
    ends = np.linspace(0, matrix.shape[0], parts + 1).astype(int)
    pairs = list(pairwise(ends))
    solvers = [splu(sparse.csc_array(matrix[a:b, a:b])) for a, b in pairs]

    def solve(right: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [own.solve(right[a:b]) for own, (a, b) in zip(solvers, pairs, strict=True)]
        )

    return solve


def sent(matrix: sparse.csr_array, parts: int) -> int:
    """Values that travel in one round: pairs of a state and another part that can reach it."""
    owner = np.minimum(np.arange(matrix.shape[0]) * parts // matrix.shape[0], parts - 1)
    entries = matrix.tocoo()
    rows, columns = entries.coords
    crosses = owner[rows] != owner[columns]
    return len(np.unique(owner[rows[crosses]] * matrix.shape[0] + columns[crosses]))


def line(name: str, model: CMDP, chain: DiscountedChain, parts: int) -> dict[str, object]:
    matrix, right = chain.matrix, chain.average(model.r)
    solve, v, rounds = blocks(matrix, parts), np.zeros(model.num_states), 0
    most = TOLERANCE * np.abs(right).max()
    while np.abs(residual := right - matrix @ v).max() > most and rounds < MOST:
        v, rounds = v + solve(residual), rounds + 1
    steps: list[int] = []
    operator = LinearOperator(matrix.shape, matvec=solve, dtype=np.float64)
    bicgstab(matrix, right, rtol=TOLERANCE, M=operator, callback=lambda _: steps.append(1))
    return {
        "name": "partition",
        "family": name,
        "states": model.num_states,
        "parts": parts,
        "values_per_round": sent(matrix, parts),
        "jacobi_rounds": rounds,
        "bicgstab_rounds": 2 * len(steps),
    }


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    models = {
        "grid": grid_cmdp(100, seed=100),
        "corridor": Case("corridor", 10_000, seed=100).build(),
        "garnet": Case("garnet", 1_000, seed=100).build(),
    }
    for name, model in models.items():
        chain = heaviest(model)
        for parts in PARTS:
            print(json.dumps(line(name, model, chain, parts)), flush=True)


if __name__ == "__main__":
    main()
