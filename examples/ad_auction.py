"""The ad auction: sell page visits to advertisers whose prices and budgets are private.

Group i of pages has n_i visitors; advertiser j pays p_ij per visit and at most b_j in all.
Run it:  python examples/ad_auction.py --out out/ad_auction
"""

import argparse
from pathlib import Path

import numpy as np

from dp_cmdp import (
    Database,
    Envelope,
    ParametricLP,
    PrivacyBudget,
    release_database,
    saturation,
    solve,
    solve_private,
    suboptimality,
    violation,
)
from dp_cmdp.data.affine import Affine
from dp_cmdp.data.curator import report_to_curator
from dp_cmdp.figures import allocation_figure, save_figure

parser = argparse.ArgumentParser(description="The ad auction, solved privately")
parser.add_argument("--epsilon", default="1")
parser.add_argument("--delta", default="1/1000")
parser.add_argument("--compare", action="store_true", help="curator only: OUT/curator_only/")
parser.add_argument("--out", type=Path, default=Path("out/ad_auction"))
options = parser.parse_args()

# Public: how many groups and advertisers, what range prices and budgets can have, and how far one
# of them may move between databases that must look alike.
N, M = 10, 5
envelope = Envelope.join(
    {
        "prices": Envelope(0.0, 1.0, radius=0.1, shape=(N, M)),
        "budgets": Envelope(0.9e7, 1.1e7, radius=1e4, shape=M),
    }
)
price, budget = envelope.index("prices"), envelope.index("budgets")

# The program, as public structure: maximise Σ p_ij x_ij, Σ_i p_ij x_ij ≤ b_j, Σ_j x_ij ≤ n_i.
group, advertiser = np.indices((N, M))
x = group * M + advertiser
program = ParametricLP(
    envelope,
    c=Affine(N * M, at=x, entry=price),
    A=Affine((M, N * M), at=(advertiser, x), entry=price),
    b=Affine(M, at=np.arange(M), entry=budget),
    A_ub=np.kron(np.eye(N), np.ones(M)),
    b_ub=np.full(N, 1e7),
)
program.check_robust_feasibility()  # from public data, before any data is read
program.check_boundedness()

# Private: the advertisers' numbers. Only `release_database` looks at them.
rng = np.random.default_rng(0)
database = Database(
    {
        "prices": np.where(rng.random((N, M)) < 0.2, 0.0, rng.random((N, M))),
        "budgets": rng.uniform(0.95e7, 1.05e7, M),
    },
    envelope,
)
release = release_database(database, PrivacyBudget(options.epsilon, options.delta))
answer = solve_private(program, release)
print(release)
print(answer, answer.certificate, sep="\n")
print("intervals that reach the public bounds:", saturation(release, envelope))

title = f"Visits sold, {release.guarantee.budget}"
allocation = answer.x.reshape(N, M)
figure = allocation_figure({"private": allocation}, title=title)
print("figure", save_figure(figure, options.out / "ad_auction.png"))


def compared(folder: Path) -> dict[str, float]:
    """The curator, who holds the truth, may look at what privacy cost."""
    best = solve(program.at(database.values)).x.reshape(N, M)
    both = {"private": allocation, "no privacy": best}
    figure = allocation_figure(both, title=f"{title}   CURATOR ONLY")
    save_figure(figure, folder / "comparison.png", private=True)
    broken = violation(program, database, x=answer.x)
    return {
        "revenue_lost_percent": 100 * suboptimality(program, database, x=answer.x),
        "true_constraints": broken.num_rows,
        "true_constraints_violated": broken.violated_rows,
    }


if options.compare:
    print("curator only", report_to_curator(options.out, "comparison.json", compared))
