"""The one file through which the tests of promises reach the package.

Tests beside this file say what users are promised and import from here only. Names, arguments and
attributes are those of the public face as it is designed; what the package spells differently today
is translated here, so that a change of the package's inside changes this file and no test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp import Database as Database
from dp_cmdp import Envelope as Envelope
from dp_cmdp import ParametricCMDP as ParametricCMDP
from dp_cmdp import ParametricLP as ParametricLP
from dp_cmdp import PrivacyBudget as PrivacyBudget
from dp_cmdp import PrivacyLedger as PrivacyLedger
from dp_cmdp import Release as Release
from dp_cmdp import errors as errors

# --------------------------------------------------------------------------------------- building


def linear_program(
    envelope: Envelope,
    *,
    maximize: Any,
    rows: list[dict[int, int]],
    limits: list[int | float],
    upper: Any = np.inf,
) -> ParametricLP:
    """maximise over x ≥ 0: each row sums θ[entry]·x[variable] and stays within its limit.

    A row maps variables to database entries; a limit that is an int is a database entry, a limit
    that is a float is public.
    """
    at = [(i, variable, entry) for i, row in enumerate(rows) for variable, entry in row.items()]
    row, col, entry = (list(part) for part in zip(*at, strict=True))
    private = [(i, entry) for i, entry in enumerate(limits) if isinstance(entry, int)]
    constant = np.array([0.0 if isinstance(b, int) else b for b in limits])
    return dp.ParametricLP(
        envelope,
        c=maximize,
        A=dp.Affine((len(rows), len(maximize)), at=(row, col), entry=entry),
        b=dp.Affine(
            len(limits),
            constant=constant,
            at=[[i for i, _ in private]],
            entry=[entry for _, entry in private],
        )
        if private
        else constant,
        upper=upper,
    )


# ------------------------------------------------------------------------------------------ verbs


@dataclass(frozen=True)
class Answer:
    """What `solve` returns, by the names of the designed face."""

    decision: Any
    value: float
    robust_value: float
    release: Release
    certificate: Any
    inner: Any


def solve(
    problem: Any,
    values: Any,
    *,
    epsilon: Any,
    delta: Any,
    ledger: PrivacyLedger | None = None,
    strategy: str = "auto",
    prior: Any = None,
    simulated: int | None = None,
) -> Answer:
    """Refuse, spend, read, answer; with a seed, the noise is `simulated` and not private."""
    plan = {"auto": "auto", "entries": "database", "queries": "totals"}[strategy]
    rng = None if simulated is None else np.random.default_rng(simulated)
    budget = PrivacyBudget(epsilon, delta)
    database = values if isinstance(values, Database) else Database(values, problem.envelope)
    options: Mapping[str, Any] = {"plan": plan, "guess": prior, "rng": rng, "ledger": ledger}
    if isinstance(problem, ParametricCMDP):
        made = dp.release_and_synthesize(problem, database, budget, **options)
        safe, robust = made.safe, made.robust
        return Answer(safe.policy, safe.value, robust.value, made.release, safe.certificate, made)
    answer = dp.release_and_solve(problem, database, budget, **options)
    return Answer(
        answer.solution.x,
        answer.solution.objective,
        answer.robust.objective,
        answer.release,
        answer.solution.certificate,
        answer,
    )


# ------------------------------------------------------------- cvxpy, models, environments, robust


def private_parameter(shape: Any = (), **facts: Any) -> Any:
    """A parameter of a cvxpy problem whose values are private."""
    return dp.cvxpy.PrivateParameter(shape, **facts)


def solve_cvxpy(
    problem: Any, values: Mapping[Any, Any], *, epsilon: Any, delta: Any, simulated: int
) -> Answer:
    """`solve` of a cvxpy problem, whose variables hold the answer afterwards."""
    rng = np.random.default_rng(simulated)
    found = dp.cvxpy.solve(problem, values, epsilon=epsilon, delta=delta, rng=rng, plan="database")
    values_of = {variable: variable.value for variable in problem.variables()}
    return Answer(
        values_of, found.value, found.robust_value, found.release, found.certificate, found
    )


def entering_costs(
    T: Any,
    r: Any,
    *,
    gamma: float,
    start: Any,
    states: list[int],
    cost: Envelope,
    limit: Envelope,
    arrivals: Any = None,
) -> ParametricCMDP:
    """A model that pays a private cost whenever a move enters one of some states."""
    zero = np.zeros((1, *np.shape(r)))
    public = dp.CMDP(T, r, f=zero, f0=[0.0], mu=start, gamma=gamma, arrivals=arrivals)
    return ParametricCMDP.for_states(public, states, severity=cost, tolerance=limit, on="entering")


@dataclass(frozen=True)
class RobustPolicy:
    """What `answer` finds for a model without a release."""

    probabilities: Any
    worst_cost: float
    verified: bool


def robust_policy(model: ParametricCMDP) -> RobustPolicy:
    """`answer` without a release: the best policy that is safe whatever the data are."""
    found = dp.robust_policy(model)
    worst = float(found.certificate.worst_case_cost[0])
    return RobustPolicy(found.policy.probs, worst, found.certificate.verified)


def load_environment(env: Any, *, gamma: float, **options: Any) -> Any:
    """The model of a Gymnasium environment."""
    return dp.import_gymnasium(env, gamma=gamma, **options)


# ------------------------------------------------------------------------------------ forged files


def is_proved(path: Path) -> bool:
    """Whether `verify` finds nothing wrong with a file."""
    return dp.verify(path).passed


def redrawn(release: Release, entry: int, *, lowest: float) -> Release:
    """A forged release: its noise put the lower end of an entry's interval at about `lowest`.

    The interval is then cut to the public bounds, as an honest one is. Its ends fit the noise if
    the interval of `release` is not cut, the radius a power of two and the noise symmetric.
    """
    assert release.envelope is not None
    assert release.draws is not None
    shift = np.zeros(release.draws.size)
    cells = np.rint((lowest - release.lower[entry]) / release.step[entry])
    shift[entry] = cells * release.step[entry]
    moved = [np.array(part) + shift for part in (release.draws, release.lower, release.upper)]
    bounds = release.envelope.lower, release.envelope.upper
    cut = [np.clip(part, *bounds) for part in moved]
    return replace(release, draws=moved[0], estimate=cut[0], lower=cut[1], upper=cut[2])


def claimed_for(release: Release, records: Any) -> Release:
    """A forged release: it says that it protects records of several entries."""
    assert release.envelope is not None
    (group,) = (name for name, _ in release.envelope.groups)
    joined = Envelope(
        release.envelope.lower,
        release.envelope.upper,
        radius=release.envelope.radius,
        records=records,
        name=group,
    )
    guarantee = replace(release.guarantee, record_size=joined.record_size)
    return replace(release, envelope=joined, guarantee=guarantee)


def query_weights(release: Release) -> Any:
    """Weights of the measured linear queries, as a dense array."""
    assert release.totals is not None
    return release.totals.W.toarray()


def reweighted(release: Release, entry: int, *, factor: float) -> Release:
    """A forged release: its measured queries weigh one entry by another factor.

    What was measured, integer by integer, is left as it is: the entry's rounding is changed.
    """
    from dp_cmdp.data.totals import Totals

    totals = release.totals
    assert totals is not None
    grid = np.array(totals.grid)
    grid[entry] /= factor
    forged = Totals(
        totals.counts, totals.index, support=totals.support, step=totals.step, grid=grid
    )
    return replace(release, totals=forged)


# ------------------------------------------------------------------------- releases of the explorer


def explorer_of_auction(
    *, prices: Path, ledger: Path, account: str, total: tuple[Any, Any], out: Path
) -> Any:
    """What the explorer keeps of a real database: 2 groups and 2 advertisers, prices in a file.

    The account of the ledger is created if there is none.
    """
    from dp_cmdp.explorer.custody import Custody
    from dp_cmdp.explorer.sources import AuctionSource

    dp.PrivacyLedger(ledger).create(account, PrivacyBudget(*total))
    source = AuctionSource(2, 2, 0.1, prices)
    return Custody(source=source, ledger=ledger, identity=account, out=out)


def released_by(explorer: Any, *, epsilon: Any, delta: Any) -> Path:
    """Press *Release*: the folder of the public files that it wrote."""
    return explorer.release(PrivacyBudget(epsilon, delta), "database").folder
