"""The ad auction: sell page visits to advertisers whose prices and budgets are private.

Group i of pages has n_i visitors; advertiser j pays p_ij per visit and at most b_j in all.
Run it:  python examples/ad_auction.py --out out/ad_auction
"""

import argparse
import json
from pathlib import Path

import numpy as np

import dp_cmdp as dp

parser = argparse.ArgumentParser(description="The ad auction, solved privately")
parser.add_argument("--epsilon", default="1")
parser.add_argument("--delta", default="1/1000")
parser.add_argument("--compare", action="store_true", help="curator only: OUT/curator_only/")
parser.add_argument("--out", type=Path, default=Path("out/ad_auction"))
options = parser.parse_args()

# Public: how many groups and advertisers, what range prices and budgets can have, and how far one
# of them may move between databases that must look alike.
N, M = 10, 5
theta = dp.Envelope.join(
    {
        "prices": dp.Envelope(0, 1, radius=0.1, shape=(N, M)),
        "budgets": dp.Envelope(0.9e7, 1.1e7, radius=1e4, shape=M),
    }
)

# The program, as public structure: maximise Σ p_ij x_ij, Σ_i p_ij x_ij ≤ b_j, Σ_j x_ij ≤ n_i.
prices = theta["prices"].reshape(-1)
x = np.arange(N * M)
served = np.vstack([np.zeros((M, N * M)), np.kron(np.eye(N), np.ones(M))])
rows = dp.Affine.sparse(prices, (x % M, x), shape=served.shape, constant=served)
limits = np.eye(M + N, M) @ theta["budgets"] + np.repeat([0, 1e7], [M, N])
lp = dp.ParametricLP(maximize=prices, A=rows, b=limits)

# Private: the advertisers' numbers. Only `solve` reads them, after the debit.
rng = np.random.default_rng(0)
private = {
    "prices": np.where(rng.random((N, M)) < 0.2, 0.0, rng.random((N, M))),
    "budgets": rng.uniform(0.95e7, 1.05e7, M),
}
found = dp.solve(lp, private, epsilon=options.epsilon, delta=options.delta)
print(found)
print("visits sold, in millions:", (found.x.reshape(N, M) / 1e6).round(1), sep="\n")
print("figure", dp.figures.save_figure(found.plot(), options.out / "ad_auction.png"))

if options.compare:  # reads the truth unpaid: not to be published
    against = dp.curator.compare(found, private)
    folder = options.out / "curator_only"
    folder.mkdir(mode=0o700, exist_ok=True)
    numbers = {name: getattr(against, name) for name in ("loss", "violated", "value", "best")}
    (folder / "comparison.json").touch(mode=0o600)
    (folder / "comparison.json").write_text(json.dumps(numbers), encoding="utf-8")
    dp.figures.save_figure(against.plot(), folder / "comparison.png")
    print("curator only", folder)
