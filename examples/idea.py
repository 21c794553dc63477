"""The idea in one picture: hidden hazards, certain inequalities about them, a certified policy.

The hazards are invented and the noise is simulated from a seed, so that the picture is the same
whenever it is made.

Run it:  python examples/idea.py --out docs
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

import dp_cmdp as dp

SENTENCE = (
    "Release the private numbers once, as linear inequalities that are certainly true of them;\n"
    "everything after that is ordinary robust optimisation on public data."
)
SECRET, PUBLIC, ANSWER, PALE, INK = "#810120", "#0d764f", "#0767a5", "#d1d5db", "#374151"
#: Left ends, width, bottom and height of the three maps, in shares of the figure.
LEFT, WIDTH, BOTTOM, HEIGHT = (0.015, 0.375, 0.735), 0.25, 0.215, 0.5

parser = argparse.ArgumentParser(description="The idea of the package in one picture")
parser.add_argument("--seed", type=int, default=0, help="of the simulated noise")
parser.add_argument("--out", type=Path, default=Path("out/idea"), metavar="DIR")
options = parser.parse_args()

# A short way through places that may be hazardous, a long one around them.
layout = dp.envs.parse_map(
    """
S?.?.G
.####.
.?..?.
.####.
......
""",
    kinds=[{"severity": (0, 1), "severity_radius": 0.05, "limit": (0.2, 0.6),
            "limit_radius": 0.02}],
    slip=0.02,
    gamma=0.97,
    step_reward=-0.5,
    goal_reward=10.0,
    name="idea",
)  # fmt: skip
model = dp.envs.HazardGridEnv(layout).model()
hazards = {"cost": [0.05, 0.1, 0.9, 0.3], "limit": [0.45]}
runs = dp.simulate(
    model, hazards, epsilon=2, delta=1e-3, strategy="queries", draws=1, seed=options.seed
)
found = next(iter(runs))
release = found.release


def draw_secret(ax) -> None:
    for cell in layout.candidates:
        row, col = divmod(cell, layout.cols)
        ax.add_patch(Rectangle((col - 0.5, row - 0.5), 1, 1, facecolor=SECRET, edgecolor="white"))
        ax.text(col, row, "?", color="white", fontsize=13, ha="center", va="center")


def draw_release(ax) -> None:
    """In each candidate a bar of its public bounds, and the released interval on it."""
    for cell, low, high in zip(layout.candidates, release.lower, release.upper, strict=False):
        row, col = divmod(cell, layout.cols)
        for ends, shade in (((0, 1), PALE), ((low, high), PUBLIC)):
            bar = [row + 0.38 - 0.76 * end for end in ends]
            ax.plot([col, col], bar, color=shade, linewidth=9, solid_capstyle="butt")


def draw_policy(ax) -> None:
    """The likeliest path."""
    cell, path = layout.starts[0][0], []
    while cell not in layout.goals and cell not in path:
        path.append(cell)
        cell = layout.neighbour(cell, int(found.decision.probabilities[cell].argmax()))
    rows, cols = np.divmod([*path, cell], layout.cols)
    ax.plot(cols, rows, color=ANSWER, linewidth=3)


proof = "proved safe" if found.certificate else "NOT PROVED safe"
panels = (
    ("1  private data", SECRET, draw_secret, "how bad each “?” is, only\nits curator knows"),
    (
        "2  public inequalities", PUBLIC, draw_release,
        "an interval for each number, and a\nlinear query: both certainly true",
    ),
    (
        "3  certified answer", ANSWER, draw_policy,
        f"{proof} for all databases that\nthe release allows, so for the truth.\n"
        f"Value {found.value:.2f}; without data {runs.robust:.2f}",
    ),
)  # fmt: skip
figure = Figure(figsize=(8.6, 3.9), dpi=150)
figure.text(0.015, 0.975, SENTENCE, fontsize=10, color=INK, va="top")
for left, (title, shade, draw, text) in zip(LEFT, panels, strict=True):
    ax = figure.add_axes((left, BOTTOM, WIDTH, HEIGHT))
    ax.set(xlim=(-0.5, layout.cols - 0.5), ylim=(layout.rows - 0.5, -0.5), aspect="equal")
    ax.set(xticks=[], yticks=[], anchor="NW")
    for cell in range(layout.num_cells):
        row, col = divmod(cell, layout.cols)
        shown = "#111827" if cell in layout.walls else "white"
        shown = "#86efac" if cell in layout.goals else shown
        ax.add_patch(Rectangle((col - 0.5, row - 0.5), 1, 1, facecolor=shown, edgecolor=PALE))
    draw(ax)
    ax.set_title(title, loc="left", fontsize=12, fontweight="bold", color=shade)
    ax.text(0, -0.06, text, transform=ax.transAxes, fontsize=9, color=INK, va="top")
steps = (
    (LEFT[0], LEFT[1], "release\nonce\nε = 2\nδ = 0.001"),
    (LEFT[1], LEFT[2], "robust\nprogram"),
)
for start, end, text in steps:
    ends = ((start + WIDTH + 0.012, 0.47), (end - 0.008, 0.47))
    look = {"arrowstyle": "-|>", "mutation_scale": 16, "linewidth": 2.4, "color": INK}
    figure.add_artist(FancyArrowPatch(*ends, transform=figure.transFigure, **look))
    figure.text((start + WIDTH + end) / 2, 0.52, text, ha="center", fontsize=8.5, color=INK)
print(f"value {found.value:.4f}, without data {runs.robust:.4f}")
print("figure", dp.figures.save_figure(figure, options.out / "idea.png"))
