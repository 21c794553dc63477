"""The one file through which the tests of promises reach the package.

Tests beside this file say what users are promised and import from here only: a change of the
package's inside changes this file and no test.
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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import dp_cmdp as dp
from dp_cmdp import ParametricCMDP as ParametricCMDP
from dp_cmdp import ParametricLP as ParametricLP
from dp_cmdp import Policy as Policy
from dp_cmdp import PrivacyBudget as PrivacyBudget
from dp_cmdp import Release as Release
from dp_cmdp import errors as errors
from dp_cmdp._src.release.measurement import System
from dp_cmdp.envs import HazardGridEnv as HazardGridEnv
from tests.cmdp.models import highest_costs

# --------------------------------------------------------------------------------------- building


class Envelope(dp.Envelope):
    """`Envelope`, and with a name the same as a group of that name."""

    def __new__(cls, lower: Any, upper: Any, *, name: str | None = None, **facts: Any) -> Any:
        made = dp.Envelope(lower, upper, **facts)
        return made if name is None else dp.Envelope.join({name: made})

    join: Any = dp.Envelope.join
    from_frame: Any = dp.Envelope.from_frame


def linear_program(
    envelope: dp.Envelope,
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
    at = [(i, variable, entry) for i, row in enumerate(rows) for variable, entry in row.items()]
    row, col, entry = (list(part) for part in zip(*at, strict=True))
    private = [(i, entry) for i, entry in enumerate(limits) if isinstance(entry, int)]
    constant = np.array([0.0 if isinstance(b, int) else b for b in limits])
    b: Any = constant
    for i, k in private:
        b = b + np.eye(1, len(limits), i)[0] * envelope[k]
    return dp.ParametricLP(
        maximize=envelope[list(maximize)] if private_objective else maximize,
        A=dp.Affine.sparse(envelope[entry], (row, col), (len(rows), len(maximize))),
        b=b,
        upper=upper,
    )


# ----------------------------------------------------------------------------------------- ledgers


@dataclass(frozen=True)
class PrivacyLedger:
    """A file of accounts; `unit` is that of the program that opens it, if it states one."""

    path: Path
    unit: str | None = None

    def opened(self, account: str = "account") -> dp.PrivacyLedger:
        """The account: one that states a unit creates it, which changes none that exists."""
        found = dp.PrivacyLedger(self.path, account)
        if self.unit is None:
            return found
        total: dict[str, Any] = {"epsilon": found.total.epsilon, "delta": found.total.delta}
        return dp.PrivacyLedger.create(self.path, account, **total, unit=self.unit)

    def create(self, account: str, total: PrivacyBudget, unit: str) -> None:
        """`PrivacyLedger.create`."""
        limits: dict[str, Any] = {"epsilon": total.epsilon, "delta": total.delta}
        dp.PrivacyLedger.create(self.path, account, **limits, unit=unit)

    def verify(self, account: str, head: str) -> Any:
        """What `verify` finds of the whole file."""
        return self.opened(account).verify(head)

    def debit(self, account: str, budget: PrivacyBudget) -> None:
        """Spend without saying what is protected."""
        self.opened(account).debit(budget)

    def entries(self) -> Any:
        """The debits of the account."""
        return self.opened().entries()


def new_account(
    path: Path, epsilon: Any = 8, delta: Any = "1/100", *, unit: Any = "one person"
) -> PrivacyLedger:
    """`PrivacyLedger.create`: a ledger whose account is named "account"."""
    dp.PrivacyLedger.create(path, "account", epsilon=epsilon, delta=delta, unit=unit)
    return PrivacyLedger(path)


def protecting(ledger: PrivacyLedger, *, unit: str) -> PrivacyLedger:
    """The same account, opened by a program whose records are of this unit."""
    return replace(ledger, unit=unit)


def spent(ledger: PrivacyLedger) -> float:
    """The ε that was debited from the account."""
    return float(dp.PrivacyLedger(ledger.path, "account").spent.epsilon)


def paid_entry(release: Release) -> int:
    """The entry of the ledger that a release names."""
    assert release.ledger_reference is not None
    return int(release.ledger_reference.split(":")[0])


class Database(dp.Database):
    """`Database`: numbers, or a function that reads them."""

    def __new__(cls, values: Any, envelope: Any) -> Any:
        return dp.Database(values, envelope)

    @staticmethod
    def deferred(read: Callable[[], Any], envelope: Any) -> dp.Database:
        """A database that is read after its debit."""
        return dp.Database(read, envelope)


def of_account(values: Any, problem: Any, ledger: PrivacyLedger | None) -> Any:
    """Data whose releases are paid from an account."""
    if ledger is None:
        return values
    source = values._source if isinstance(values, dp.Database) else values
    return dp.Database(source, problem, ledger=ledger.opened())


def account(path: Path, problem: Any, read: Callable[[], Any]) -> tuple[Any, PrivacyLedger]:
    """A new account with room for (8, 1/100), and a database that is read after its debit."""
    return dp.Database(read, problem), new_account(path, unit="one person")


def publish(
    envelope: dp.Envelope,
    read: Callable[[], Any],
    *,
    ledger: PrivacyLedger,
    epsilon: Any,
    delta: Any,
    name: str = "account",
) -> Release:
    """Spend from the account of this name, read, release the entries."""
    database = dp.Database(read, envelope, ledger=ledger.opened(name))
    return dp.publish(envelope, database, epsilon=epsilon, delta=delta, strategy="entries")


# ------------------------------------------------------------------------------------------ verbs


@dataclass(frozen=True)
class Answer:
    """What `solve` returns."""

    decision: Any
    value: float
    robust_value: float
    release: Release
    certificate: Any
    inner: Any

    @classmethod
    def of(cls, found: Any) -> Answer:
        robust = found.problem.value(found.robust.decision, found.estimate)
        return cls(found.decision, found.value, robust, found.release, found.certificate, found)

    @property
    def estimate(self) -> Any:
        """The entries at which `value` is `problem.value(decision, estimate)`."""
        return self.inner.estimate

    @property
    def problem(self) -> Any:
        """What was asked."""
        return self.inner.problem

    @property
    def robust(self) -> Any:
        """The decision that needs no data."""
        return self.inner.robust.decision


Found = Answer


def solve(
    problem: Any,
    values: Any,
    *,
    epsilon: Any,
    delta: Any,
    ledger: PrivacyLedger | None = None,
    strategy: Any = "auto",
    prior: Any = None,
) -> Answer:
    """Refuse, spend, read, answer."""
    data = of_account(values, problem, ledger)
    options = {"epsilon": epsilon, "delta": delta, "strategy": strategy, "prior": prior}
    return Answer.of(dp.solve(problem, data, **options))


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
    numbers = values.read() if isinstance(values, dp.Database) else values
    options: dict[str, Any] = {"strategy": strategy, "prior": prior, "draws": draws, "seed": seed}
    found = dp.simulate(problem, numbers, epsilon=epsilon, delta=delta, **options)
    return [Answer.of(each) for each in found]


def auction(groups: int, *, radius: float) -> ParametricLP:
    """An ad auction with five advertisers, private prices in [0, 1] and public budgets."""
    from paper.problems.auction import growing_auction

    return growing_auction(groups, radius=radius)


def optimum(problem: ParametricLP, values: Any) -> float:
    """What the best decision is worth without privacy."""
    return dp.answer(problem.at(values)).value


def value(problem: ParametricLP, decision: Any, values: Any) -> float:
    """What a decision is worth when the private numbers are `values`."""
    return problem.value(decision, np.asarray(values))


Advised = Any


def advise(problem: Any, *, epsilon: Any, delta: Any, draws: int = 16, seed: int = 0) -> Advised:
    """What releases would be worth, from public data only."""
    return dp.advise(problem, epsilon=[epsilon], delta=delta, draws=draws, seed=seed)


certify: Any = dp.certify


def highest_cost(problem: ParametricCMDP, policy: Any, release: dp.Release) -> float:
    """The highest cost of a policy over all databases that a release allows."""
    return float(highest_costs(problem, policy, release.uncertainty)[0])


def lowest_limit(problem: ParametricCMDP, release: dp.Release) -> float:
    """The lowest limit over all databases that a release allows."""
    return float(problem.worst(release.uncertainty).limit[0])


def shown(found: Found | Release) -> str:
    """An answer or a release as a session of Python shows it."""
    return repr(found if isinstance(found, Release) else found.inner)


def shown_in_notebook(found: Found | Release) -> str:
    """The same, as a notebook shows it: HTML."""
    return (found if isinstance(found, Release) else found.inner)._repr_html_()


def picture(found: Found) -> Any:
    """`found.plot()`: a matplotlib figure."""
    return found.inner.plot()


def bars_against_limit(figure: Any) -> list[float]:
    """Lengths of the bars that a picture draws for costs, in shares of the limit beside them."""
    return [bar.get_width() for bar in figure.axes[0].patches]


def command(*words: str) -> int:
    """`dp-cmdp`: its exit code."""
    from dp_cmdp._src.cli.main import main

    return main(list(words))


private_cost: Any = dp.PrivateCost


load_environment: Any = dp.gymnasium.load


def rollout(env: Any, found: Found, *, episodes: int, seed: int) -> Any:
    """The found policy played, with the costs that the call charges by default."""
    return dp.rollout(env, found.inner, episodes=episodes, seed=seed)


#: What `solve` warns with when a release will tell nothing.
UselessReleaseWarning: type[Warning] = errors.PrivacyWarning

private_parameter: Any = dp.cvxpy.PrivateParameter


def verify(*paths: Path) -> Any:
    """What public files prove."""
    return dp.verify(*paths)


# ------------------------------------------------------------------------- releases of the explorer


def explorer_of_auction(
    *, prices: Path, ledger: Path, account: str, total: tuple[Any, Any], out: Path
) -> Any:
    """What the explorer keeps of a real database: 2 groups and 2 advertisers, prices in a file.

    The account of the ledger is created if there is none.
    """
    from dp_cmdp.explorer.paid import PaidReleases
    from dp_cmdp.explorer.sources import AuctionSource

    epsilon, delta = total
    dp.PrivacyLedger.create(ledger, account, epsilon=epsilon, delta=delta, unit="one person")
    return PaidReleases(AuctionSource(2, 2, 0.1, prices), ledger, account, out)


def released_by(explorer: Any, *, epsilon: Any, delta: Any) -> Path:
    """Press *Release*: the folder of the public files that it wrote."""
    from dp_cmdp.explorer.paid import Request

    asked = Request(epsilon=str(epsilon), delta=str(delta), strategy="entries")
    return explorer.release(asked).folder


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
        process.terminate()  # which ends the processes that compute for the page, too
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
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


def breaking_answers(monkeypatch: Any, kind: str, error: BaseException) -> None:
    """From now on `error` is raised when an answer is to be found from a release."""

    def broken(*given: Any, **named: Any) -> Any:
        raise error

    if kind == "values":
        module = "dp_cmdp._src.frontends.cvxpy.problem"
        problem = importlib.import_module(module).CvxpyProblem
        monkeypatch.setattr(problem, "apply", broken)
        return
    for module in ("verbs.spend", "verbs.free", "release.publish"):
        monkeypatch.setattr(f"dp_cmdp._src.{module}.answered", broken)


def pressing_during_noise(monkeypatch: Any, press: Callable[[], None]) -> None:
    """From now on `press` is called while noise is drawn."""
    usual = System.draw

    def drawn(*given: Any, **named: Any) -> Any:
        press()
        return usual(*given, **named)

    monkeypatch.setattr(System, "draw", drawn)


def spend(
    problem: Any, database: dp.Database, ledger: PrivacyLedger | None, *, strategy: Any = "entries"
) -> Answer:
    """`solve` on the account of the database, with exact noise: ε = 1, δ = 1/1000."""
    return solve(problem, database, epsilon=1, delta="1/1000", ledger=ledger, strategy=strategy)


def spend_two_looks(problem: ParametricLP, database: dp.Database, ledger: PrivacyLedger) -> Any:
    """The same, measured in two looks of a quarter and of three quarters of the budget."""
    return spend(problem, database, ledger, strategy=dp.Strategy.queries(share="1/4"))


def spend_cvxpy(problem: Any, values: Mapping[Any, Any], ledger: PrivacyLedger) -> Any:
    """`solve` of a cvxpy problem on the account, with exact noise."""
    return solve(problem, values, epsilon=1, delta="1/1000", ledger=ledger, strategy="entries")


def answer(problem: ParametricLP, release: Release) -> Any:
    """The best decision for what a release says; spends nothing."""
    return dp.answer(problem, release)
