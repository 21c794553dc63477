"""What the explorer hands out: the public files of a release and its policy, and figures."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

from dp_cmdp.cmdp.parametric import ParametricCMDP
from dp_cmdp.cmdp.private_policy import PrivatePolicy
from dp_cmdp.data.curator import write_public_json
from dp_cmdp.envs import Layout, save_layout
from dp_cmdp.program.parametric import ParametricLP
from dp_cmdp.release.solve import PrivateAnswer

#: The public files of a grid, in the order of the menu; ``dp-cmdp verify`` judges the first three.
GRID_FILES = (
    "release.npz", "policy.npz", "layout.json", "certificate.json", "policy.png", "release.png",
)  # fmt: skip
PROGRAM_FILES = ("release.npz", "solution.npz", "program.npz", "solution.csv", "release.png")


def grid_file(name: str, layout: Layout, model: ParametricCMDP, made: PrivatePolicy) -> bytes:
    """One of :data:`GRID_FILES`.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if name == "release.npz":
            made.release.save(path)
        elif name == "policy.npz":
            made.safe.policy.save(path, release=made.release, model=model, name=layout.name)
        elif name == "layout.json":
            save_layout(layout, path)
        elif name == "certificate.json":
            write_public_json(path, _report(layout, made))
        else:
            path.write_bytes(_picture(name, layout, made))
        return path.read_bytes()


def program_file(name: str, program: ParametricLP, made: PrivateAnswer) -> bytes:
    """One of :data:`PROGRAM_FILES`.

    Notes
    -----
    **Privacy.** *Post-processing*.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if name == "release.npz":
            made.release.save(path)
        elif name == "solution.npz":
            made.solution.save(path, release=made.release, program=program, name="explorer")
        elif name == "program.npz":
            program.save(path)
        elif name == "solution.csv":
            path.write_text(made.solution.to_frame().to_csv(), encoding="utf-8")
        else:
            path.write_bytes(png(made.release.plot()))
        return path.read_bytes()


def png(figure: Any) -> bytes:
    """A figure as a PNG whose metadata says nothing about the machine."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": "dp_cmdp"})
    return buffer.getvalue()


def _report(layout: Layout, made: PrivatePolicy) -> dict[str, Any]:
    return {
        "layout": layout.name,
        "plan": str(made.choice.plan),
        "epsilon": float(made.release.guarantee.epsilon),
        "delta": float(made.release.guarantee.delta),
        "secure": made.release.secure,
        "leaks": list(made.release.leaks),
        **made.safe.facts(),
        "robust_value": made.robust.value,
    }


def _picture(name: str, layout: Layout, made: PrivatePolicy) -> bytes:
    return png(made.release.plot() if name == "release.png" else made.plot(layout))
