"""The one file through which the tests of promises reach the package.

Tests beside this file say what users are promised and import from here only. Names, arguments and
attributes are those of the public face as it is designed; what the package spells differently today
is translated here, so that a change of the package's inside changes this file and no test.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import dp_cmdp as dp
from dp_cmdp import Database as Database
from dp_cmdp import Envelope as Envelope
from dp_cmdp import ParametricCMDP as ParametricCMDP
from dp_cmdp import ParametricLP as ParametricLP
from dp_cmdp import Policy as Policy
from dp_cmdp import PrivacyBudget as PrivacyBudget
from dp_cmdp import PrivacyLedger as PrivacyLedger
from dp_cmdp import Release as Release
from dp_cmdp import errors as errors
from dp_cmdp.cli import main
from dp_cmdp.cmdp.facts_certificate import certify_for
from dp_cmdp.cmdp.rollout import Rollout
from dp_cmdp.envs import HazardGridEnv as HazardGridEnv
from dp_cmdp.envs import PrivateCostWrapper
from dp_cmdp.problems.ad_auction import growing_auction

# --------------------------------------------------------------------------------------- building


def linear_program(
    envelope: Envelope,
    *,
    maximize: Any,
    rows: list[dict[int, int]],
    limits: list[int | float],
    upper: Any = np.inf,
    private_objective: bool = False,
) -> ParametricLP:
    """maximise over x ≥ 0: each row sums θ[entry]·x[variable] and stays within its limit.

    A row maps variables to database entries; a limit that is an int is a database entry, a limit
    that is a float is public. A private objective names database entries too.
    """
    n = len(maximize)
    at = [(i, variable, entry) for i, row in enumerate(rows) for variable, entry in row.items()]
    row, col, entry = (list(part) for part in zip(*at, strict=True))
    private = [(i, entry) for i, entry in enumerate(limits) if isinstance(entry, int)]
    constant = np.array([0.0 if isinstance(b, int) else b for b in limits])
    return dp.ParametricLP(
        envelope,
        c=dp.Affine(n, at=[range(n)], entry=maximize) if private_objective else maximize,
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

    @property
    def estimate(self) -> Any:
        """The entries at which `value` is `problem.value(decision, estimate)`."""
        return self.release.estimate


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


# --------------------------------------------------- advice, certificates, play, warnings, imports


@dataclass(frozen=True)
class Found(Answer):
    """An answer that also knows its problem, as those of the designed face do."""

    problem: Any

    @property
    def robust(self) -> Any:
        """The decision that needs no data."""
        robust = self.inner.robust
        return robust.policy if isinstance(self.problem, ParametricCMDP) else robust.x


def simulate(
    problem: Any,
    values: Any,
    *,
    epsilon: Any,
    delta: Any,
    strategy: str = "auto",
    prior: Any = None,
    draws: int = 1,
    seed: int = 0,
) -> list[Found]:
    """What `solve` would give, as often as asked, with noise that anybody can draw again."""
    private = {"epsilon": epsilon, "delta": delta, "strategy": strategy, "prior": prior}
    made = [solve(problem, values, **private, simulated=seed + draw) for draw in range(draws)]
    return [Found(**vars(answer), problem=problem) for answer in made]


def auction(groups: int, *, radius: float) -> ParametricLP:
    """An ad auction with five advertisers, private prices in [0, 1] and public budgets."""
    return growing_auction(groups, radius=radius)


def optimum(problem: ParametricLP, values: Any) -> float:
    """What the best decision is worth without privacy: `answer(problem.at(values)).value`."""
    return float(dp.solve(problem.at(values), certify=False).objective)


def value(problem: ParametricLP, decision: Any, values: Any) -> float:
    """What a decision is worth when the private numbers are `values`."""
    return float(problem.c.at(np.asarray(values)) @ decision)


@dataclass(frozen=True)
class Advised:
    """What `advise` returns, for one ε and one δ."""

    problem: Any
    options: Mapping[str, Any]

    def to_frame(self) -> Any:
        return dp.advise(self.problem, **self.options).to_frame()

    def smallest_epsilon(self, *, loss: float) -> float:
        """The least ε at which at most this share of the optimum is lost; ∞ where none is."""
        trials = dp.advise(self.problem, **self.options)
        best, without = trials.reference_optimum, trials.reference_robust
        won_back = 1.0 - loss * best / (best - without)
        (found,) = dp.advise(self.problem, **self.options, worth=won_back).thresholds
        return np.inf if found.epsilon is None else found.epsilon


def advise(problem: Any, *, epsilon: Any, delta: Any, draws: int = 16, seed: int = 0) -> Advised:
    """What releases would be worth, from public data only."""
    options = {"epsilons": [epsilon], "deltas": [delta], "draws": draws, "seed": seed}
    return Advised(problem, options)


def certify(problem: ParametricCMDP, policy: Any, release: dp.Release) -> Any:
    """What is proved of a policy for every database that a release allows."""
    return certify_for(problem, policy, release)


def highest_cost(problem: ParametricCMDP, policy: Any, release: dp.Release) -> float:
    """The highest cost of a policy over all databases that a release allows."""
    return float(certify_for(problem, policy, release).worst_case_cost[0])


def lowest_limit(problem: ParametricCMDP, release: dp.Release) -> float:
    """The lowest limit over all databases that a release allows."""
    return float(problem.tightened(release).f0[0])


def shown(found: Found | Release) -> str:
    """An answer or a release as a session of Python shows it."""
    return repr(found if isinstance(found, Release) else found.inner)


def shown_in_notebook(found: Found | Release) -> str:
    """The same, as a notebook shows it: HTML."""
    return (found if isinstance(found, Release) else found.inner)._repr_html_()


def picture(found: Found) -> Any:
    """`found.plot()`: a matplotlib figure."""
    inner = found.inner
    return inner.safe.plot() if isinstance(found.problem, ParametricCMDP) else inner.solution.plot()


def bars_against_limit(figure: Any) -> list[float]:
    """Lengths of the bars that a picture draws for costs, in shares of the limit beside them."""
    return [bar.get_width() for bar in figure.axes[0].patches]


def command_for_grid(folder: Path, *, layout: str, as_json: bool = False) -> int:
    """`dp-cmdp synthesize` with linear queries and simulated noise: its exit code."""
    options = ["--layout", layout, *_SIMULATED, "--out", str(folder)]
    return main(["synthesize", *options, *(["--json"] if as_json else [])])


def command_for_program(folder: Path, *, model: Path, private: Path) -> int:
    """`dp-cmdp lp`, in the same way."""
    return main(["lp", str(model), "--private", str(private), *_SIMULATED, "--out", str(folder)])


_SIMULATED = ("--epsilon", "2", "--delta", "1/1000", "--plan", "totals", "--seed", "0")


def load_answer(folder: Path) -> tuple[Policy, dp.Release]:
    """The policy and the release that a command wrote."""
    return Policy.load(folder / "policy.npz"), dp.Release.load(folder / "release.npz")


def private_cost(cost: Any, limit: Any, *, states: Any, on: str | None = None) -> dp.PrivateCost:
    """`PrivateCost` of the designed face."""
    charged = {} if on is None else {"on": on}
    return dp.PrivateCost(severity=cost, tolerance=limit, states=states, **charged)


def load_environment(env: Any, *, gamma: float, costs: Any = None, **options: Any) -> Any:
    """`dp.gymnasium.load`: the problem that an environment is, with private costs or without."""
    model = dp.import_gymnasium(env, gamma=gamma, **options)
    return model if costs is None else model.with_private_costs({"cost": costs})


def rollout(env: Any, found: Found, *, episodes: int, seed: int) -> Rollout:
    """The found policy played, with the costs that the call charges by default."""
    gamma = found.problem.public.gamma
    cost = found.problem.cost_at(found.release)
    return dp.rollout(env, found.decision, episodes=episodes, seed=seed, gamma=gamma, cost=cost)


def rollout_reported(env: Any, found: Found, *, episodes: int, seed: int) -> Rollout:
    """The found policy played, with the costs that the environment itself reports."""
    gamma = found.problem.public.gamma
    return dp.rollout(env, found.decision, episodes=episodes, seed=seed, gamma=gamma)


def released_costs(env: Any, problem: Any, release: dp.Release) -> Any:
    """`dp.gymnasium.ReleasedCosts`: the environment, with released costs in `info["cost"]`."""
    return PrivateCostWrapper(env, release, problem)


#: What `solve` warns with when a release will tell nothing.
UselessReleaseWarning: type[Warning] = errors.PrivacyWarning


def protecting(ledger: PrivacyLedger, *, unit: str) -> PrivacyLedger:
    """The same account, opened by a program whose records are of this unit."""
    return PrivacyLedger(ledger.path, unit=unit)


def publish(
    envelope: Envelope,
    read: Callable[[], Any],
    *,
    ledger: PrivacyLedger,
    epsilon: Any,
    delta: Any,
    name: str = "account",
) -> Release:
    """Spend from the account of this name, read, release the entries."""
    database = Database.deferred(read, envelope, identity=name)
    return dp.release_database(database, PrivacyBudget(epsilon, delta), ledger=ledger)


def account(path: Path, problem: Any, read: Callable[[], Any]) -> tuple[Database, PrivacyLedger]:
    """A new account with room for (8, 1/100), and a database that is read after its debit."""
    ledger = new_account(path, unit="one person")
    return Database.deferred(read, problem.envelope, identity="account"), ledger


def spent(ledger: PrivacyLedger) -> float:
    """The ε that was debited from the account."""
    return float(ledger.spent("account").epsilon)


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


def model_of_arrays(
    T: Any, r: Any, *, gamma: float, start: Any, cost: Any, limit: Any, arrivals: Any = None
) -> dp.CMDP:
    """`CMDP` of the designed face, without private numbers."""
    return dp.CMDP(T, r, f=cost, f0=limit, mu=start, gamma=gamma, arrivals=arrivals)


def private_model(T: Any, r: Any, *, gamma: float, start: Any) -> ParametricCMDP:
    """A model of arrays in which the first action of the first state costs a private number."""
    pairs = int(np.size(r))
    return ParametricCMDP(
        Envelope([0.0, 1.0], [1.0, 2.0], radius=0.1),
        T=T,
        r=r,
        mu=start,
        gamma=gamma,
        cost=dp.Affine((1, pairs), at=([0], [0]), entry=[0]),
        tolerance=dp.Affine(1, at=[0], entry=[1]),
    )


def optimal_value(model: dp.CMDP) -> float:
    """`answer(model).value` of a model without private numbers."""
    return dp.solve_cmdp(model).value


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


# ------------------------------------------------------------------- several costs, refusals, texts

#: Raised before anything is spent when no answer could be certain.
RefusedError: type[Exception] = errors.AssumptionError


def database(model: Any, data: Mapping[str, Any]) -> Database:
    """`Database` of several kinds of cost, by the keys "kind.cost" and "kind.limit"."""
    parts: dict[str, dict[str, Any]] = {"cost": {}, "limit": {}}
    for key, numbers in data.items():
        kind, _, part = key.rpartition(".")
        parts[part][kind] = numbers
    return model.database(parts["cost"], tolerance=parts["limit"])


def load_environment_of_kinds(env: Any, *, gamma: float, costs: Mapping[str, Any]) -> Any:
    """`dp.gymnasium.load` with several kinds of private costs."""
    return dp.import_gymnasium(env, gamma=gamma).with_private_costs(costs)


def command(*words: str) -> int:
    """`dp-cmdp`: its exit code."""
    return main(list(words))


def save_policy(found: Found, path: Path) -> Path:
    """The policy of an answer as a file that names its release and its model."""
    return found.decision.save(path, release=found.release, model=found.problem)


def verify(*paths: Path) -> Any:
    """What public files prove."""
    return dp.verify(*paths)


#: The modules that check files, which count for themselves what a record can move.
CHECKER = "dp_cmdp/verification"
#: The module in which whoever measures linear queries counts that.
COUNT_OF_PRODUCER = "dp_cmdp.release.totals"


@contextmanager
def halved_count() -> Iterator[None]:
    """Whoever measures linear queries counts half of what a record moves, and adds half the noise.

    A checker with a count of its own is not changed by it.
    """
    from dp_cmdp.release.totals import record_moves

    def halved(*given: Any) -> tuple[int, ...]:
        return tuple(-(-moved // 2) for moved in record_moves(*given))

    sharing = [m for m in sys.modules.values() if getattr(m, "record_moves", None) is record_moves]
    for module in sharing:
        setattr(module, "record_moves", halved)  # noqa: B010
    try:
        yield
    finally:
        for module in sharing:
            setattr(module, "record_moves", record_moves)  # noqa: B010


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

    dp.PrivacyLedger(ledger).create(account, PrivacyBudget(*total), "one person")
    source = AuctionSource(2, 2, 0.1, prices)
    return Custody(source=source, ledger=ledger, identity=account, out=out)


def released_by(explorer: Any, *, epsilon: Any, delta: Any) -> Path:
    """Press *Release*: the folder of the public files that it wrote."""
    return explorer.release(PrivacyBudget(epsilon, delta), "database").folder


@dataclass(frozen=True)
class Asked:
    """What a server answered: status, headers and text."""

    status: int
    headers: Mapping[str, str]
    text: str


def ask(url: str, *, upgrade: bool = False, **headers: str) -> Asked:
    """One GET request, as a browser or anybody else sends it; redirects are not followed."""
    where = urlsplit(url)
    line = http.client.HTTPConnection("127.0.0.1", where.port, timeout=30)
    if upgrade:
        headers |= {"Upgrade": "websocket", "Connection": "Upgrade"}
        headers |= {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    line.request("GET", where.path + (f"?{where.query}" if where.query else ""), headers=headers)
    with contextlib.closing(line), line.getresponse() as answer:
        text = "" if answer.status == 101 else answer.read().decode()
        return Asked(answer.status, dict(answer.headers.items()), text)


@contextlib.contextmanager
def explorer_process(folder: Path, *arguments: str) -> Iterator[str]:
    """`dp-cmdp explore` as a process of its own: the address that it prints at its start."""
    known = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    command = [sys.executable, "-m", "dp_cmdp", "explore", "--port", "0", "--no-browser", "--json"]
    process = subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, text=True, cwd=folder, env=known
    )
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["address"]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def explorer_parts(start: str) -> dict[str, str]:
    """Addresses below the explorer's own that its page asks for: of itself, and of its socket."""
    where = urlsplit(start)
    base = f"{where.scheme}://{where.netloc}{where.path}"
    socket = f"{base}_nicegui_ws/socket.io/?EIO=4&transport="
    return {"page": start, "polling": f"{socket}polling", "socket": f"{socket}websocket"}


# --------------------------------------------------------------------- what was paid for, and lost


class Interrupted(BaseException):
    """What a test raises in the place of Control-C, an error of a solver or a full disk."""


#: Where the answer is found from a release, by the kind of the problem.
_ANSWERING = {
    "program": "dp_cmdp.release.solve.solve_private",
    "model": "dp_cmdp.cmdp.private_policy.synthesize",
    "cvxpy": "dp_cmdp.release.solve.solve_private",
    "curved": "dp_cmdp.frontends.cvxpy.solve.curved_over",
    "values": "dp_cmdp.frontends.cvxpy.solve._unpacked",
}


def breaking_answers(monkeypatch: Any, kind: str, error: BaseException) -> None:
    """From now on `error` is raised when an answer is to be found from a release."""

    def broken(*given: Any, **named: Any) -> Any:
        raise error

    module, _, name = _ANSWERING[kind].rpartition(".")
    monkeypatch.setattr(importlib.import_module(module), name, broken)


def breaking_second_look(monkeypatch: Any, error: BaseException) -> None:
    """From now on `error` is raised between the first measurement and the second."""

    def broken(*given: Any, **named: Any) -> Any:
        raise error

    monkeypatch.setattr("dp_cmdp.release.looks.plan_look", broken)


def pressing_during_noise(monkeypatch: Any, press: Callable[[], None]) -> None:
    """From now on `press` is called while noise is drawn."""
    from dp_cmdp.release import entries

    usual = entries.lattice_step

    def drawn(*given: Any, **named: Any) -> Any:
        press()
        return usual(*given, **named)

    monkeypatch.setattr(entries, "lattice_step", drawn)


def spend(
    problem: Any, database: Database, ledger: PrivacyLedger | None, *, strategy: str = "entries"
) -> Answer:
    """`solve` on the account of the database, with exact noise: ε = 1, δ = 1/1000."""
    return solve(problem, database, epsilon=1, delta="1/1000", ledger=ledger, strategy=strategy)


def spend_two_looks(problem: ParametricLP, database: Database, ledger: PrivacyLedger) -> Any:
    """The same, measured in two looks of a quarter and of three quarters of the budget."""
    budget, plan = PrivacyBudget(1, "1/1000"), dp.Plan("1/4")
    return dp.release_and_solve(problem, database, budget, plan=plan, ledger=ledger)


def spend_cvxpy(problem: Any, values: Mapping[Any, Any], ledger: PrivacyLedger) -> Any:
    """`solve` of a cvxpy problem on the account, with exact noise."""
    facts = {"epsilon": 1, "delta": "1/1000", "identity": "account", "ledger": ledger}
    return dp.cvxpy.solve(problem, values, plan="database", **facts)


def answer(problem: ParametricLP, release: Release) -> Any:
    """The best decision for what a release says; spends nothing."""
    return dp.solve_private(problem, release)


def new_account(
    path: Path, epsilon: Any = 8, delta: Any = "1/100", *, unit: Any = "one person"
) -> PrivacyLedger:
    """`PrivacyLedger.create`: a ledger whose account is named "account"."""
    ledger = PrivacyLedger(path)
    ledger.create("account", PrivacyBudget(epsilon, delta), unit)
    return ledger


def auction_database(folder: Path, ledger: Path, prices: str) -> Any:
    """The explorer's real database of 2 groups and 2 advertisers, with a table of prices."""
    path = folder / "prices.csv"
    path.write_text(prices)
    from dp_cmdp.explorer.custody import Custody
    from dp_cmdp.explorer.sources import AuctionSource

    source = AuctionSource(2, 2, 0.1, path)
    return Custody(source=source, ledger=ledger, identity="account", out=folder / "out")


def grid_database(folder: Path, ledger: Path, hazards: str, tolerances: str) -> Any:
    """The explorer's real database of the layout islands, with tables of hazards and limits."""
    from dp_cmdp.envs import named_layout
    from dp_cmdp.explorer.custody import Custody
    from dp_cmdp.explorer.sources import GridSource

    (folder / "hazards.csv").write_text(hazards)
    (folder / "limits.csv").write_text(tolerances)
    source = GridSource(named_layout("islands"), folder / "hazards.csv", folder / "limits.csv")
    return Custody(source=source, ledger=ledger, identity="account", out=folder / "out")
