"""Whether this tree could be released: built, installed and tried as a user would.

Wheel and sdist are built and judged, then installed into clean environments on every Python of this
machine: without extras (the core answers, missing extras are named), and with all of them (the demo
and all examples, in empty folders). Then the documentation, its links, and what the release says of
itself. A table tells what was done; the exit code is 1 if any of it failed.

Run it:  make release-check            (or, on one Python: python .ci/release_check.py --only 3.12)
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import release_facts
from pythons import Environment, StepError, interpreters, last_lines, newest_of_each_minor, run

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("build", "twine", "cffconvert")
#: What examples need beside the extras.
BESIDE = ("minigrid>=3.0",)
#: Options of examples that would take long, or that `make demo` gives.
OPTIONS = {
    "hazard_grid.py": ("--out", "out/demo", "--compare"),
    "lagrangian_q_learning.py": ("--quick",),
}
#: Examples with an extra of their own, which is not installed: they must say so.
UNMET = {"ppo_lagrangian.py": "pip install '.[rl]'"}
PASSED, FAILED, SKIPPED = "passed", "FAILED", "skipped"


class StepSkipped(Exception):  # noqa: N818 (nothing went wrong)
    """A step has nothing to do here; the text says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table."""

    step: str
    python: str
    outcome: str
    seconds: float
    note: str


def attempt(step: str, work: Callable[[], str], *, python: str = "") -> Result:
    """Do one step; its text, or the reason why it failed, is the note."""
    start = time.perf_counter()
    try:
        outcome, note = PASSED, work()
    except StepSkipped as reason:
        outcome, note = SKIPPED, str(reason)
    except (StepError, subprocess.TimeoutExpired) as error:
        outcome, note = FAILED, str(error)
    return Result(step, python, outcome, round(time.perf_counter() - start, 1), note)


class ReleaseCheck:
    """The steps, in a folder that is thrown away."""

    def __init__(self, folder: Path, *, pinned: bool) -> None:
        self.folder, self.pinned = folder, pinned
        self.project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        self.dist = folder / "dist"
        self._tools: Environment | None = None

    def artefact(self, ending: str) -> Path:
        """The built wheel (".whl") or sdist (".tar.gz")."""
        for path in self.dist.glob(f"*{ending}"):
            return path
        raise StepError(f"there is no {ending}: nothing was built")

    def tool(self, *words: str | Path) -> str:
        if self._tools is None:
            # unpinned: cffconvert needs an older jsonschema than the documentation's notebooks
            made = Environment(Path(sys.executable), self.folder / "tools", pinned=False)
            made.install(*TOOLS)
            self._tools = made
        program, *rest = words
        return run([self._tools.folder / "bin" / program, *rest], cwd=ROOT)

    def facts(self) -> str:
        """Version, changelog, citation and addresses agree."""
        found = release_facts.faults(
            self.project,
            module=(ROOT / "dp_cmdp/_version.py").read_text(),
            changelog=(ROOT / "CHANGELOG.md").read_text(),
            citation=(ROOT / "CITATION.cff").read_text(),
        )
        if found:
            raise StepError("; ".join(found))
        return f"version {self.project['version']} everywhere"

    def citation(self) -> str:
        """CITATION.cff follows its schema."""
        said = self.tool("cffconvert", "--validate", "--infile", "CITATION.cff")
        return last_lines(said, 1)

    def build(self) -> str:
        """The sdist of this tree, and the wheel of that sdist."""
        self.tool("pyproject-build", "--outdir", self.dist, ROOT)
        with tarfile.open(self.artefact(".tar.gz")) as archive:
            archive.extractall(self.folder / "unpacked", filter="data")
        sizes = {path.name: path.stat().st_size / 1e6 for path in self.dist.iterdir()}
        return ", ".join(f"{name} {size:.1f} MB" for name, size in sorted(sizes.items()))

    def metadata(self) -> str:
        """What the index would show."""
        self.tool("twine", "check", "--strict", self.artefact(".whl"), self.artefact(".tar.gz"))
        return "wheel and sdist"

    def core(self, name: str, python: Path) -> str:
        """Without extras, from the wheel and then from the sdist."""
        home = Environment(python, self.folder / f"core-{name}", pinned=self.pinned)
        home.install(str(self.artefact(".whl")))
        size = home.megabytes()
        claims = self._probe(home, f"wheel-{name}")
        home.install("--force-reinstall", "--no-deps", str(self.artefact(".tar.gz")))
        claims += self._probe(home, f"sdist-{name}")
        return f"{claims} claims hold, {size} MB"

    def _probe(self, home: Environment, name: str) -> int:
        empty = self.folder / name
        empty.mkdir()
        said = run([home.python, ROOT / ".ci/core_probe.py"], cwd=empty)
        return sum(line.startswith("ok: ") for line in said.splitlines())

    def examples(self, name: str, python: Path) -> str:
        """The demo and examples of the sdist that need no files, from the wheel with all extras.

        Those of ``examples/face`` name files, which ``tests/face/test_programs.py`` makes.
        """
        home = Environment(python, self.folder / f"all-{name}", pinned=self.pinned)
        home.install(f"{self.artefact('.whl')}[all]", *BESIDE)
        size = home.megabytes()
        every = sorted((self.folder / "unpacked").glob("*/examples/**/*.py"))
        scripts = [script for script in every if script.parent.name != "face"]
        if not scripts:
            raise StepError("the sdist has no examples")
        for script in scripts:
            empty = self.folder / f"examples-{name}" / script.stem
            empty.mkdir(parents=True)
            run_example(home.python, script, cwd=empty)
        cwd = self.folder / f"examples-{name}/hazard_grid"
        run([home.folder / "bin/dp-cmdp", "verify", "out/demo"], cwd=cwd)
        return f"{len(scripts)} examples, what the demo wrote is verified, {size} MB"

    def documentation(self) -> str:
        """The pages, without warnings."""
        if not re.search(r"^docs:", (ROOT / "Makefile").read_text(), re.M):
            raise StepSkipped("there is no `make docs`")
        return last_lines(run(["make", "docs"], cwd=ROOT), 1)

    def links(self) -> str:
        """The tests whose names are about links."""
        test = [sys.executable, "-m", "pytest", "-q", "-k", "link", "tests/docs"]
        return last_lines(run(test, cwd=ROOT), 1)

    def classifiers(self, tried: Sequence[str]) -> str:
        """The metadata names the Pythons that were tried."""
        if found := release_facts.python_faults(self.project, tried):
            raise StepError("; ".join(found))
        return f"Python {', '.join(tried)}"


def run_example(python: Path, script: Path, *, cwd: Path) -> None:
    """It ends well; or, without its extra, says what to install."""
    unmet = UNMET.get(script.name)
    try:
        run([python, script, *OPTIONS.get(script.name, ())], cwd=cwd)
    except StepError as error:
        if unmet is None or unmet not in str(error):
            raise StepError(f"{script.name}: {error}") from None
    else:
        if unmet is not None:
            raise StepError(f"{script.name} ran without its extra")


def results(check: ReleaseCheck, pythons: dict[str, Path], *, some: bool) -> Iterator[Result]:
    """Every step, as it ends."""
    yield attempt("facts agree", check.facts)
    yield attempt("citation", check.citation)
    yield attempt("build", check.build)
    yield attempt("metadata", check.metadata)
    tried = []
    for name, python in pythons.items():
        yield (core := attempt("core", partial(check.core, name, python), python=name))
        yield (full := attempt("examples", partial(check.examples, name, python), python=name))
        tried += [name] if core.outcome == full.outcome == PASSED else []
    if not some:
        yield attempt("classifiers", lambda: check.classifiers(tried))
    yield attempt("documentation", check.documentation)
    yield attempt("links", check.links)


def table(rows: Sequence[Result]) -> str:
    """Aligned columns, the note last."""
    cells = [("step", "python", "outcome", "seconds", "note")]
    cells += [(row.step, row.python, row.outcome, f"{row.seconds:.1f}", row.note) for row in rows]
    widths = [max(len(row[k]) for row in cells) for k in range(4)]
    return "\n".join(
        "  ".join([*(row[k].ljust(widths[k]) for k in range(4)), row[4]]) for row in cells
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Whether this tree could be released")
    parser.add_argument("--only", nargs="+", metavar="3.X", help="these Pythons only")
    parser.add_argument(
        "--latest", action="store_true", help="the newest dependencies, not constraints.txt's"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="release-check-") as folder:
        check = ReleaseCheck(Path(folder), pinned=not options.latest)
        lowest = check.project["requires-python"].removeprefix(">=")
        pythons = newest_of_each_minor(interpreters(), lowest)
        if absent := set(options.only or ()) - set(pythons):
            parser.error(f"no Python {', '.join(sorted(absent))} here, only {', '.join(pythons)}")
        if options.only:
            pythons = {name: pythons[name] for name in pythons if name in options.only}
        print(f"Pythons: {', '.join(f'{n} ({p})' for n, p in pythons.items())}", file=sys.stderr)
        rows = []
        for row in results(check, pythons, some=bool(options.only)):
            print(f"{row.outcome:8} {row.step} {row.python} {row.note}", file=sys.stderr)
            rows.append(row)
        passed = all(row.outcome != FAILED for row in rows)
        if options.json:
            print(
                json.dumps({"passed": passed, "steps": [asdict(row) for row in rows]}), flush=True
            )
        else:
            print(table(rows), flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
