"""Record what commit 2e23627 does: ``python -m tests.oracles.record NAME…`` writes into data/.

Run once, at 2e23627; what it writes is committed and not written again by the redesign. The noise
of the files is the system's, so another run writes other releases.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import dp_cmdp as dp
from dp_cmdp.cmdp.exact_costs import exact_costs
from dp_cmdp.data.polytope import Polytope
from tests.oracles import adapter, problems, release_files
from tests.oracles.enumeration import divergence, weights_of

HERE = Path(__file__).parent
DATA, FILES, DOCS = HERE / "data", HERE / "files", HERE.parents[1] / "docs"
#: (law, ε, δ, steps, entries, count): one record moves a number by at most `steps`, all numbers
#: together by steps·entries, of which `count` are perturbed independently.
LAWS = (
    ("truncated-laplace", "1/10", "1/100", 1, "1", 1),
    ("truncated-laplace", "1/2", "1/10", 1, "1", 1),
    ("truncated-laplace", "1", "1/1000", 1, "1", 1),
    ("truncated-laplace", "1", "1/1000", 4, "1", 1),
    ("truncated-laplace", "1", "1/1000", 16, "1", 1),
    ("truncated-laplace", "2", "1/1000", 8, "1", 1),
    ("truncated-laplace", "4", "1/1000000", 8, "1", 1),
    ("truncated-laplace", "10", "1/1000", 4, "1", 1),
    ("truncated-laplace", "1", "1/10", 1, "1", 2),
    ("truncated-laplace", "1", "1/10", 2, "1", 2),
    ("truncated-laplace", "1", "1/10", 2, "3/2", 2),
    ("truncated-laplace", "1", "1/10", 2, "2", 2),
    ("truncated-laplace", "2", "1/100", 3, "4/3", 2),
    ("truncated-laplace", "2", "1/100", 1, "2", 3),
    ("truncated-laplace", "4", "1/20", 1, "3", 3),
    ("truncated-laplace", "3", "1/10", 2, "5/2", 3),
    ("table", "1/2", "1/10", 4, "1", 1),
    ("table", "1", "1/10", 4, "1", 1),
    ("table", "1", "1/1000", 8, "1", 1),
    ("table", "2", "1/1000", 8, "1", 1),
    ("table", "3", "1/100", 6, "1", 1),
)
#: Pages whose tables hold the numbers of the full studies.
PAGES = ("scale.md", "reproduction.md", "cost-of-privacy.md", "tables.md")


def laws() -> list[dict[str, Any]]:
    """Certificates, and the exact divergence of their laws."""
    rows = []
    for law, epsilon, delta, steps, entries, count in LAWS:
        proof = adapter.calibrated(law, epsilon, delta, steps=steps, entries=entries)
        said = proof.facts()
        weights = weights_of(proof)
        l1 = math.floor(proof.steps * proof.entries)
        found = divergence(weights, proof.epsilon, l1=l1, largest=steps, count=count)
        assert proof.check()
        assert found <= proof.outer_mass <= proof.delta
        digest = hashlib.sha256(" ".join(said["thresholds"]).encode()).hexdigest()
        size = {"l1": l1, "largest": steps, "count": count}
        found = {"divergence": str(found), "divergence_float": float(found)}
        rows.append({**size, "thresholds_sha256": digest, **found, "certificate": said})
    return rows


def values() -> list[dict[str, Any]]:
    """Robust and optimal values of the recorded problems."""
    rows = []
    for name in adapter.VALUED:
        case = adapter.problem(name)
        found = {"robust": case.robust_value(), "optimum": case.optimum()}
        rows.append({"problem": name, **found})
    return rows


def published() -> list[dict[str, Any]]:
    """Tables of the documentation that hold numbers of the full studies, row by row."""
    rows, heading, columns = [], "", None
    for page in PAGES:
        for line in (DOCS / page).read_text().splitlines():
            if line.startswith("#"):
                heading = line.lstrip("# ")
            if not line.startswith("|"):
                columns = None
                continue
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if columns is None:
                columns = cells
            elif not set(line) <= set("|-: "):
                rows.append({"page": page, "heading": heading, "columns": columns, "row": cells})
    return rows


def answers() -> list[dict[str, Any]]:
    """Certificates in fractions: what a decision certainly keeps over an uncertainty set."""
    return [*_programs(), *_policies()]


def _programs() -> Iterator[dict[str, Any]]:
    """Answers to linear programs over the envelope, over intervals, over linear queries."""
    budget = dp.PrivacyBudget(4, "1/1000")
    for name, numbers in adapter.small_programs().items():
        program = adapter.linear_program(numbers)
        database = dp.Database(numbers.values, program.envelope)
        for plan in (None, dp.Plan(1), dp.Plan(0)):
            rng = np.random.default_rng(7)
            release = plan and dp.release_looks(
                database, budget, program=program, plan=plan, rng=rng
            )
            if release is None:
                known = Polytope(program.envelope.lower, program.envelope.upper)
                box = program.envelope
                found = dp.solve(program.robust(box.lower, box.upper))
            else:
                known, found = release.polytope, dp.solve_private(program, release)
            x = found.x[: program.num_variables]
            facts = {"lower": known.lower, "upper": known.upper, "W": known.W.toarray()}
            facts |= {"q": known.q, "multipliers": np.zeros((numbers.b.size, known.q.size))}
            links = program.polytope_rows(known).links
            facts["multipliers"][links.row, links.fact] = found.multipliers
            slack = problems.exact_slack(numbers, x, **facts)
            assert min(slack) >= 0
            yield {
                "problem": name,
                "known": "envelope" if plan is None else str(plan),
                **facts,
                "x": x,
                "slack": slack,
                "value": float(program.c.at((known.lower + known.upper) / 2) @ x),
            }


def _policies() -> Iterator[dict[str, Any]]:
    """Policies with their highest cost over the envelope and over released intervals."""
    for name in ("paper", "corridor"):
        case = adapter.problem(name)
        assert case.model is not None
        rng = np.random.default_rng(7)
        release = dp.release_database(case.database, dp.PrivacyBudget(2, "1/1000"), rng=rng)
        box = case.model.envelope
        found = dp.robust_policy(case.model), dp.synthesize(case.model, release)
        for known, safe in zip((box, release), found, strict=True):
            worst = case.model.robust(known.lower, known.upper)
            costs = exact_costs(worst, safe.policy)
            assert all(cost <= Fraction(most) for cost, most in zip(costs, worst.f0, strict=True))
            yield {
                "problem": name,
                "known": "envelope" if known is box else "database",
                "lower": known.lower,
                "upper": known.upper,
                "policy": safe.policy.probs,
                "worst_cost": costs,
                "limit": worst.f0,
                "value": safe.value,
            }


def files() -> list[dict[str, Any]]:
    """Good and forged files with a ledger, and what `verify` says of them."""
    FILES.mkdir(exist_ok=True)
    release_files.write(FILES)
    (DATA / "ledger.json").write_text(text(adapter.ledger_rows(FILES / "ledger.sqlite")))
    (FILES / "ledger.sqlite.lock").unlink(missing_ok=True)
    found = [
        {"files": names, **adapter.verdict(FILES / name for name in names)}
        for names in release_files.bundles(FILES)
    ]
    assert not any(row["passed"] for row in found if "forged" in row["files"][0])
    return found


def losses() -> list[dict[str, Any]]:
    """What the quick studies lose, row by row, with their intervals."""
    rows = []
    for study in ("table1", "cost-of-privacy", "scale"):
        command = ["dp-cmdp", "reproduce", study, "--quick", "--workers", "1", "--json"]
        with TemporaryDirectory() as folder:
            run = subprocess.run([*command, "--out", folder], capture_output=True, check=True)
        made = json.loads(run.stdout)
        rows += [{"study": study, **row} for row in made["rows"]]
    return rows


def text(value: Any) -> str:
    """JSON, one row per line."""
    rows = ",\n".join(json.dumps(row, default=_plain, ensure_ascii=False) for row in value)
    return f"[\n{rows}\n]\n"


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Fraction) else np.asarray(value).tolist()


RECORDS = {
    "laws": laws,
    "values": values,
    "published": published,
    "answers": answers,
    "verdicts": files,
    "losses": losses,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(RECORDS))
    for name in parser.parse_args().names:
        (DATA / f"{name}.json").write_text(text(RECORDS[name]()))


if __name__ == "__main__":
    main()
