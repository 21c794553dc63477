"""The code of README and docs: which blocks a page has, how they are run, what they must print.

Blocks of a page run one after the other in one folder that is empty at first; Python blocks share
their names. Around a block a page may say

* ``<!-- not run: reason -->`` before it: it is shown only;
* a block of ``text`` straight after it: what it prints. Its ``...`` stands for anything;
* ``<!-- numbers vary -->`` between the two: the noise is real, or an optimum is one of several and
  which of them depends on the last bit of a sum, so numbers are not compared.

``python -m tests.docs.pages docs/PAGE.md …`` writes what blocks print now into pages whose blocks
of ``text`` say something else, or nothing yet.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Pages whose blocks can be copied one by one: each starts without the names of those before.
SEPARATE = frozenset({"README.md", "docs/cvxpy.md", "docs/gymnasium.md", "docs/tables.md"})
CODE = ("python", "sh")
#: What the fences of a page may say.
LANGUAGES = frozenset({*CODE, "text", "toml", "json"})
#: Directives of the site.
DIRECTIVES = frozenset({"eval-rst", "toctree", "command-line", "functions-of"})
FENCE = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+) -->\n)?"
    r"^```(?P<language>[^\n]*)\n(?P<code>.*?)^```$"
    r"(?:\n\n?(?P<vary><!-- numbers vary -->\n\n?)?```text\n(?P<output>.*?)^```$)?",
    re.M | re.S,
)
#: What depends on the draw.
NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?|True|False")


@dataclass(frozen=True)
class Block:
    """A piece of code in a page."""

    language: str
    code: str
    reason: str | None
    output: str | None
    vary: bool

    @property
    def runs(self) -> bool:
        return self.language in CODE and self.reason is None

    def said(self, printed: str) -> bool:
        """Whether what was printed is what the page shows."""
        if self.output is None:
            return True
        shown = self.output
        if self.vary:
            shown, printed = (re.sub(r"[ -]+", " ", NUMBER.sub("#", t)) for t in (shown, printed))
        want, got = (
            "\n".join(map(str.rstrip, text.rstrip().splitlines())) for text in (shown, printed)
        )
        return doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS)


def pages() -> list[str]:
    """README and every page of the documentation, from the root."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [str(page.relative_to(ROOT)) for page in found]


def blocks(page: str) -> list[Block]:
    return [block_of(found) for found in FENCE.finditer((ROOT / page).read_text())]


def block_of(found: re.Match[str]) -> Block:
    return Block(
        language=found["language"],
        code=found["code"],
        reason=found["reason"],
        output=found["output"],
        vary=found["vary"] is not None,
    )


def run(page: str, folder: Path) -> list[tuple[Block, str]]:
    """Run the blocks of a page and return each with what it printed.

    The interpreter is this one, or that of the variable ``PAGES_PYTHON``; its commands are found
    first. AssertionError if a block fails.
    """
    # the path of an interpreter in a virtual environment must not be resolved: it is a link
    python = Path(os.environ.get("PAGES_PYTHON", sys.executable)).absolute()
    running = [block for block in blocks(page) if block.runs]
    task = {"separate": page in SEPARATE, "blocks": [asdict(block) for block in running]}
    done = subprocess.run(
        [python, "-P", "-W", "ignore", Path(__file__).with_name("page_runner.py")],
        cwd=folder,
        input=json.dumps(task),
        env=os.environ | {"PATH": f"{python.parent}:{os.environ['PATH']}", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(zip(running, json.loads(done.stdout), strict=True))


def refreshed(page: str, folder: Path) -> str:
    """The text of a page with what its blocks print now, where it shows something else."""
    printed = iter(run(page, folder))

    def shown(found: re.Match[str]) -> str:
        block = block_of(found)
        if not block.runs:
            return found[0]
        _, said = next(printed)
        if block.output is None or block.said(said):
            return found[0]
        start, end = (place - found.start() for place in found.span("output"))
        lines = [f"{line.rstrip()}\n" for line in said.rstrip().splitlines()]
        return found[0][:start] + "".join(lines) + found[0][end:]

    return FENCE.sub(shown, (ROOT / page).read_text())


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            (ROOT / name).write_text(refreshed(name, Path(folder)))
