"""Why feasibility is certain, and where the published theorem needs mending.

Left: a program with one private coefficient. Whatever the noise, the private feasible set lies
inside the true one. Right: the counterexample to the paper's ``thm:feasible``. Its assumption holds
(one point suits every database), yet the entrywise worst case that Algorithm 1 falls back to is
empty; the database release, which knows that both entries come from one number, is not.

Run it:  python examples/feasibility_theorem.py --out out/feasibility
"""

import argparse
from pathlib import Path

import numpy as np

from dp_cmdp import Database, Envelope, ParametricLP, PrivacyBudget, release_database, solve_private
from dp_cmdp.data.affine import Affine
from dp_cmdp.errors import AssumptionError
from dp_cmdp.figures.style import legend_below, new_figure, save_figure
from dp_cmdp.program.entrywise import entrywise

parser = argparse.ArgumentParser(description="Why feasibility is certain")
parser.add_argument("--draws", type=int, default=60)
parser.add_argument("--out", type=Path, default=Path("out/feasibility"))
options = parser.parse_args()
figure, (left, right) = new_figure(10.0, 4.4, ncols=2)

# θx + y ≤ 4 with a private θ in [0.5, 2]; x + 2y ≤ 6 is public
envelope = Envelope([0.5], [2.0], radius=0.1)
program = ParametricLP(
    envelope,
    c=[1.0, 1.0],
    A=Affine((1, 2), constant=[[0.0, 1.0]], at=([0], [0]), entry=[0]),
    b=[4.0],
    A_ub=[[1.0, 2.0]],
    b_ub=[6.0],
)
program.check_robust_feasibility()
truth = 0.9
x = np.linspace(0.0, 6.5, 400)
border = np.clip(np.minimum(4.0 - truth * x, 3.0 - x / 2.0), 0.0, None)
left.fill_between(x, border, color="#bbf7d0", label="true feasible set")
violated = 0
for seed in range(options.draws):
    rng = np.random.default_rng(seed)
    release = release_database(Database([truth], envelope), PrivacyBudget(2, "1/1000"), rng=rng)
    answer = solve_private(program, release).x
    slack = program.worst_case_slack(answer, lower=[truth], upper=[truth])
    violated += int((slack < 0).any())
    tight = np.clip(np.minimum(4.0 - release.upper[0] * x, 3.0 - x / 2.0), 0.0, None)
    left.plot(x, tight, color="#00734d", alpha=0.12, linewidth=1)
    left.plot(*answer, "o", color="#00734d", markersize=4, alpha=0.6)
left.plot([], [], "o-", color="#00734d", markersize=4, label="private set and private optimum")
left.set_title(f"{options.draws} private answers, {violated} infeasible", loc="left")
left.set_xlabel("x")
left.set_ylabel("y")
left.set_ylim(0, 3.3)

# the counterexample: A(1) = [1 0], A(2) = [0 1], b = 1.5, x ≥ 1, y ≥ 1
both = Affine(
    (1, 2), constant=[[2.0, -1.0]], at=([0, 0], [0, 1]), entry=[0, 0], coefficient=[-1, 1]
)
counterexample = ParametricLP(
    Envelope([1.0], [2.0]), c=[1.0, 1.0], A=both, b=[1.5], lower=1.0, upper=3.0
)
counterexample.check_robust_feasibility()
print("database release: some x is feasible for every database")
try:
    entrywise(counterexample).check_robust_feasibility()
except AssumptionError as error:
    print(f"Algorithm 1: {error}")
right.fill_between([1.0, 1.5], 1.0, 1.5, color="#bbf7d0", label="feasible for every database")
side = np.linspace(0.0, 1.5, 50)
right.fill_between(side, 1.5 - side, color="#fed7aa", label="Â x ≤ b_inf (Algorithm 1)")
right.axvline(1.0, color="#374151", linestyle="--", linewidth=1)
right.axhline(1.0, color="#374151", linestyle="--", linewidth=1, label="public: x ≥ 1, y ≥ 1")
right.set_xlim(0, 2)
right.set_ylim(0, 2)
right.set_xlabel("x")
right.set_title("the assumption holds, Algorithm 1 has no answer", loc="left")
legend_below(figure, left, right, columns=3)
print("figure", save_figure(figure, options.out / "feasibility_theorem.png"))
