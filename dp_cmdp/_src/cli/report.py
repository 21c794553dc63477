"""What commands say of an answer, and the public files that they write of it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from dp_cmdp._src.base.progress import with_bar
from dp_cmdp._src.cli.folder import CERTIFICATE, PICTURE, TABLE, finite, write_json
from dp_cmdp._src.cli.problem import LAYOUT, PROBLEM, Named

T = TypeVar("T")
#: Characters of a line at most.
WIDTH = 100


def certificate_summary(proof: Any) -> dict[str, Any]:
    """What is proved, in words and numbers: never a cost beside a limit of another database."""
    text = repr(proof)
    words = text.removeprefix("verified: ").partition(" (slack")[0]
    return {
        "verified": proof.verified,
        "statement": words if proof.verified else text,
        "slack": proof.worst_slack if proof.slack.size else None,
        "equality_residual": proof.equality_residual,
    }


def release_summary(release: Any) -> dict[str, Any] | None:
    if release is None:
        return None
    return {
        "guarantee": release.guarantee,
        "simulated": release.simulated,
        "saturation": release.saturation,
        "integers": sum(len(outcome.integers) for outcome in release.outcomes),
        "ledger": release.ledger_reference,
    }


def strategy_name(release: Any) -> str | None:
    return None if release is None else (release.strategy_document or {}).get("name")


def answer_summary(which: Named, found: Any) -> dict[str, Any]:
    """What certificate.json holds and ``--json`` prints."""
    robust = which.problem.value(found.robust.decision, found.estimate)
    return finite(
        {
            "problem": which.name,
            "source": found.source,
            "value": found.value,
            "bound": found.bound,
            "robust": {"value": float(robust)},
            "strategy": strategy_name(found.release),
            "epsilon": float(found.epsilon),
            "delta": float(found.delta),
            "release": release_summary(found.release),
            "certificate": certificate_summary(found.certificate),
        }
    )


def write_problem(which: Named, folder: Path) -> None:
    """The public problem, with the layout of a grid."""
    from dp_cmdp.envs import save_layout

    which.problem.save(folder / PROBLEM)
    if which.layout is not None:
        save_layout(which.layout, folder / LAYOUT)


def write_answer(which: Named, found: Any, report: dict[str, Any], folder: Path) -> None:
    """All public files of an answer."""
    found.save(folder)
    write_problem(which, folder)
    write_json(folder / CERTIFICATE, report)
    if hasattr(found, "x"):
        found.to_frame().to_csv(folder / TABLE)
    draw(found, folder / PICTURE)


def draw(what: Any, path: Path) -> Path | None:
    """The picture of a result, where matplotlib is installed."""
    from dp_cmdp._src.base.extras import is_installed

    if not is_installed("matplotlib"):
        return None
    from dp_cmdp.figures import save_figure

    return save_figure(what.plot(), path)


def say(options: Any, summary: dict[str, Any], *lines: tuple[str, str]) -> None:
    """One JSON document, or named lines that fit a terminal."""
    if options.json:
        print(json.dumps(finite(summary), ensure_ascii=False, allow_nan=False), flush=True)
        return
    whole = {"break_on_hyphens": False, "break_long_words": False, "subsequent_indent": " " * 10}
    for name, text in lines:
        print(textwrap.fill(text, WIDTH, initial_indent=f"{name:10}", **whole), flush=True)


def under_bar(options: Any, name: str, work: Callable[[], T]) -> T:
    """What `work` returns, with a sign of life on a terminal where it takes long."""
    (done,) = [work() for _ in with_bar(range(1), not options.json, total=1, name=name)]
    return done


def problem_line(which: Named) -> tuple[str, str]:
    return "problem", f"{which.name}: {which.problem!r}"


def release_lines(release: Any) -> list[tuple[str, str]]:
    if release is None:
        return [("release", "none: no data was read (ε = 0)")]
    summary = release_summary(release) or {}
    silent = f"{release.saturation:.0%} of the entries no better known than in public (saturation)"
    return [
        ("release", f"{strategy_name(release)}: {release.guarantee}"),
        ("", f"integers measured: {summary['integers']}; {silent}"),
    ]


def answer_lines(which: Named, found: Any, folder: Path, robust: float) -> list[tuple[str, str]]:
    lines = [problem_line(which), *release_lines(found.release)]
    lines += [("answer", f"value {found.value:.9g}"), ("", repr(found.certificate))]
    lines += [("robust", f"value {robust:.9g} with no data at all (ε = 0)")]
    if found.source == "robust" and found.release is not None:
        lines += [("", "no better answer came of the release: no budget need be spent here")]
    return [*lines, ("written", f"{folder}/")]
