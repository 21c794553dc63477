"""Why feasibility is certain, and where the published theorem needs mending.

Left: a program with one private coefficient. Whatever the noise, the private feasible set lies
inside the true one. Right: the counterexample to the paper's ``thm:feasible``. Its assumption holds
(one point suits every database), yet the entrywise worst case that Algorithm 1 falls back to is
empty; the release of the database, in which both entries come from one number, is not.

Run it:  python examples/feasibility_theorem.py --out out/feasibility
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dp_cmdp as dp

parser = argparse.ArgumentParser(description="Why feasibility is certain")
parser.add_argument("--draws", type=int, default=60)
parser.add_argument("--out", type=Path, default=Path("out/feasibility"))
options = parser.parse_args()
figure = Figure(figsize=(10, 4.4), layout="constrained", dpi=150)
left, right = figure.subplots(ncols=2)

# θx + y ≤ 4 with a private θ in [0.5, 2]; x + 2y ≤ 6 is public
theta = dp.Envelope([0.5], [2.0], radius=0.1)
lp = dp.ParametricLP(maximize=[1, 1], A=[[theta[0], 1], [1, 2]], b=[4, 6])
truth = 0.9
x = np.linspace(0.0, 6.5, 400)
border = np.clip(np.minimum(4.0 - truth * x, 3.0 - x / 2.0), 0.0, None)
left.fill_between(x, border, color="#bbf7d0", label="true feasible set")
runs = dp.simulate(lp, [truth], epsilon=2, delta=1e-3, strategy="entries", draws=options.draws)
for found in runs:
    largest = found.problem.envelope.upper[0] if found.release is None else found.release.upper[0]
    tight = np.clip(np.minimum(4.0 - largest * x, 3.0 - x / 2.0), 0.0, None)
    left.plot(x, tight, color="#00734d", alpha=0.12, linewidth=1)
    left.plot(*found.decision, "o", color="#00734d", markersize=4, alpha=0.6)
left.plot([], [], "o-", color="#00734d", markersize=4, label="private set and private optimum")
violated = sum(truth * found.decision[0] + found.decision[1] > 4 for found in runs)
left.set(title=f"{options.draws} private answers, {violated} infeasible", ylim=(0, 3.3))

# the counterexample: A(1) = [1 0], A(2) = [0 1], b = 1.5, x ≥ 1, y ≥ 1
theta = dp.Envelope([1.0], [2.0])
counterexample = dp.ParametricLP(
    maximize=[1, 1], A=[[2 - theta[0], theta[0] - 1]], b=[1.5], lower=1, upper=3
)
print("release of the database:", dp.answer(counterexample).x, "is feasible for every database")
try:
    dp.answer(counterexample.entrywise()[0])
except dp.errors.RefusedError as error:
    print(f"Algorithm 1: {error}")
right.fill_between([1.0, 1.5], 1.0, 1.5, color="#bbf7d0", label="feasible for every database")
side = np.linspace(0.0, 1.5, 50)
right.fill_between(side, 1.5 - side, color="#fed7aa", label="Â x ≤ b_inf (Algorithm 1)")
right.axvline(1.0, color="#374151", linestyle="--", linewidth=1)
right.axhline(1.0, color="#374151", linestyle="--", linewidth=1, label="public: x ≥ 1, y ≥ 1")
right.set(title="the assumption holds, Algorithm 1 has no answer", xlim=(0, 2), ylim=(0, 2))
for axes in (left, right):
    axes.legend(fontsize=8)
print("figure", dp.figures.save_figure(figure, options.out / "feasibility_theorem.png"))
