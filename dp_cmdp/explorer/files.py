"""What the explorer hands out: the public files of an answer, which ``verify`` judges, and figures.

Everything here is post-processing of a release.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import dp_cmdp as dp

#: What `Answer.save` writes, and ``dp-cmdp verify`` judges.
SAVED = ("release.npz", "problem.npz", "answer.npz")
#: The public files of a grid, and of a linear program, in the order of the menu.
GRID_FILES = (*SAVED, "layout.json", "certificate.json", "policy.png", "release.png")
PROGRAM_FILES = (*SAVED, "solution.csv", "answer.png", "release.png")
#: A linear program to begin with: model, specification, values; public.
SAMPLE = ("model.mps", "spec.toml", "values.csv")
#: Shown in the page too.
PICTURES = ("release.png", "answer.png")


def answer_file(name: str, answer: Any) -> bytes:
    """One of the files of an answer to a grid or to a linear program."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if name in SAVED:
            answer.save(folder)
        elif name == "layout.json":
            dp.envs.save_layout(answer.problem.layout, path)
        elif name == "certificate.json":
            path.write_text(json.dumps(_report(answer), indent=2) + "\n", encoding="utf-8")
        elif name == "solution.csv":
            answer.to_frame().to_csv(path)
        else:
            path.write_bytes(png((answer.release if name == "release.png" else answer).plot()))
        return path.read_bytes()


def sample_file(name: str) -> bytes:
    """One of the files of :data:`SAMPLE`."""
    return (Path(__file__).parent / "sample" / name).read_bytes()


def png(figure: Any) -> bytes:
    """A figure as a PNG with nothing about the machine in it."""
    with tempfile.TemporaryDirectory() as folder:
        return dp.figures.save_figure(figure, Path(folder) / "figure.png").read_bytes()


def _report(answer: Any) -> dict[str, Any]:
    release, proof = answer.release, answer.certificate
    return {
        "layout": answer.problem.layout.name,
        "strategy": strategy_name(answer),
        "epsilon": float(release.budget.epsilon),
        "delta": float(release.budget.delta),
        "simulated": release.simulated,
        "value": answer.value,
        "robust_value": answer.robust.value,
        "bound": answer.bound,
        "verified": proof.verified,
        "slack": dict(zip(proof.names, proof.slack.tolist(), strict=True)),
        "constraints": answer.to_frame().reset_index().to_dict("records"),
    }


def strategy_name(answer: Any) -> str:
    """How the data were read, as the release says it."""
    return str((answer.release.strategy_document or {}).get("name", "nothing"))
