"""What commit 2e23627 offers, as a table whose last column the redesign fills.

    python -m tests.oracles.inventory collect     data/inventory.json; only at 2e23627
    python -m tests.oracles.inventory             inventory.md, from that and data/decisions.json

A decision belongs to a name of a section, or to all names of the section that no other one is
for ("*"). What nobody decided stays empty and is counted at the top.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT, DATA, PAGE = HERE.parents[1], HERE / "data", HERE / "inventory.md"
Names = dict[str, str]


def commands() -> Names:
    """Every command with its options and positions."""
    from dp_cmdp.cli.main import build_parser

    found = {}
    for parser in _parsers(build_parser()):
        command = parser.prog.removeprefix("dp-cmdp").strip() or "dp-cmdp"
        found[command] = parser.description or ""
        for action in parser._actions:
            if not isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
                name = action.option_strings[-1] if action.option_strings else action.dest
                found[f"{command} {name}"] = re.sub(r"\s+", " ", action.help or "")
    return found


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for part in action.choices.values():
                yield from _parsers(part)


MODEL = "Maximize\n p: 2 x + y\nSubject To\n hours: x + 3 y <= 9\n wood: 2 x + y <= 8\nEnd\n"
PRIVATE = (
    '[[private]]\nkind = "rhs"\nname = "capacity"\nrows = ["hours", "wood"]\n'
    "relative = true\nlower = 0.8\nupper = 1.2\nradius = 0.01\n"
)
VALUES = "group,row,column,value\ncapacity,hours,,9.1\ncapacity,wood,,7.9\n"
BUDGET = "--epsilon 1 --delta 1/1000 --seed 0"
LP = f"lp model.lp --private spec.toml --data values.csv {BUDGET}"
#: One or more calls of every command that prints JSON, in one folder; `explore` prints an address.
CALLS = {
    "synthesize": (
        f"synthesize --layout corridor {BUDGET} --plan totals --compare --out a --json",
        "synthesize --layout corridor --epsilon 1 --delta 1/1000 --method robust --out r --json",
    ),
    "lp": (f"{LP} --plan totals --out b --json", f"{LP} --check --json"),
    "rollout": (
        "rollout a/policy.npz --episodes 3 --curator --out c --json",
        "rollout a/policy.npz --episodes 3 --json",
    ),
    "evaluate": (
        "evaluate a/policy.npz --release a/release.npz --json",
        "evaluate a/policy.npz --curator --out e --json",
    ),
    "verify": ("verify a/release.npz a/policy.npz --json",),
    "advise": (
        "advise --layout corridor --epsilons 1 --deltas 1/1000 --draws 2 --out f --json",
        "advise --layout corridor --epsilons 1 --deltas 1/1000 --draws 2 --plans --out g --json",
        "advise --layout corridor --target 50 --delta 1/1000 --draws 2 --out i --json",
    ),
    "audit": ("audit --quick --workers 1 --out h --json",),
    "ledger create": ("ledger create l.sqlite --identity a --epsilon 1 --delta 1/1000 --json",),
    "ledger show": ("ledger show l.sqlite --json",),
    "ledger verify": ("ledger verify l.sqlite --json",),
    **{
        f"reproduce {name}": (
            f"reproduce {name} --quick --draws 2 --workers 1 --out s-{name} --json",
        )
        for name in ("mean-shift", "hsu-cmdp", "munoz-ads", "ad-headline", "ad-size", "ad-budget")
    },
    "reproduce ad-epsilon": ("reproduce ad-epsilon --quick --draws 2 --workers 1 --out s --json",),
    "reproduce bounds": ("reproduce bounds --quick --workers 1 --draws 2 --out t --json",),
}
#: Studies whose rows are among the recorded losses.
RECORDED = ("table1", "cost-of-privacy", "scale")


def json_keys() -> Names:
    """Keys of what commands print with --json, found by calling them."""
    from dp_cmdp.cli.main import main

    found: Names = {"explore address": ""}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in (("model.lp", MODEL), ("spec.toml", PRIVATE), ("values.csv", VALUES)):
            Path(name).write_text(text)
        for command, calls in CALLS.items():
            for call in calls:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    code = main(call.split())
                print(call, code, file=sys.stderr)
                for key in _keys(json.loads(printed.getvalue())):
                    found[f"{command} {key}"] = ""
    losses = json.loads((DATA / "losses.json").read_text())
    for row in losses:
        for key in row.keys() - {"study"}:
            found[f"reproduce {row['study']} rows[].{key}"] = ""
    return found


def _keys(said: Any, place: str = "") -> Iterator[str]:
    if isinstance(said, dict):
        for key, value in said.items():
            yield (inner := f"{place}.{key}" if place else key)
            yield from _keys(value, inner)
    elif isinstance(said, list):
        for value in said:
            yield from _keys(value, f"{place}[]")


def face() -> Names:
    """Names that `dp_cmdp` exports, and those of its documented submodules."""
    import dp_cmdp

    found = {f"dp_cmdp.{name}": "face" for name in names_of(dp_cmdp)}
    for page in sorted((ROOT / "docs" / "reference").glob("*.md")):
        module = "dp_cmdp"
        for kind, name in re.findall(
            r"^\.\. (currentmodule|auto\w+|py:\w+):: (\S+)", page.read_text(), re.M
        ):
            if kind == "currentmodule":
                module = name
            else:
                full = name if name.startswith("dp_cmdp.") else f"{module}.{name}"
                found.setdefault(full, f"docs/reference/{page.name}")
    from dp_cmdp import figures

    found |= {f"dp_cmdp.figures.{name}": "docs/reference/figures.md" for name in names_of(figures)}
    return found


def names_of(module: Any) -> list[str]:
    return list(module.__all__)


def members() -> Names:
    """Public methods and properties of the classes of the face."""
    import dp_cmdp

    found = {}
    for name in names_of(dp_cmdp):
        kind = getattr(dp_cmdp, name)
        if isinstance(kind, type):
            fields = getattr(kind, "__dataclass_fields__", {})
            own = {*vars(kind), *fields} - {"__doc__"}
            for part in sorted(part for part in own if not part.startswith("_")):
                found[f"{name}.{part}"] = "field" if part in fields else ""
    return found


def shipped() -> Names:
    """Layouts, registered environments, wrappers, baselines, studies."""
    from dp_cmdp.baselines import METHODS
    from dp_cmdp.reproductions import REPRODUCTIONS

    from dp_cmdp.envs import REGISTERED, layout_names

    found = {f"layout {name}": "" for name in layout_names()}
    found |= {f"environment {name}": "" for name in (*REGISTERED, "dp_cmdp/HazardGrid25-v0")}
    for name in ("PrivateCostWrapper", "SixTupleWrapper", "StateObservation"):
        found[f"wrapper {name}"] = ""
    found |= {f"baseline {name}": "" for name in METHODS}
    found |= {f"study {name}": part.about for name, part in REPRODUCTIONS.items()}
    examples = sorted((ROOT / "examples").rglob("*.py"))
    return found | {str(path.relative_to(ROOT)): "example" for path in examples}


def code_blocks() -> Names:
    """Code blocks of the pages: number on the page, language, first line."""
    from tests.pages import blocks, pages

    found = {}
    for page in pages():
        for number, block in enumerate(blocks(page), 1):
            lines = [line for line in block.code.splitlines() if line.strip()]
            shown = "" if block.reason is None else f" (not run: {block.reason})"
            first = lines[0] if lines else ""
            found[f"{page} {number}"] = f"{block.language}{shown}: {first}"
    return found


def targets() -> Names:
    """Targets of the Makefile, and the benchmarks."""
    said = re.findall(r"^([a-z-]+):.*?## (.*)$", (ROOT / "Makefile").read_text(), re.M)
    found = {f"make {name}": about for name, about in said}
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        about = re.match(r'(?:#.*\n)*"""(.*)', path.read_text())
        found[f"benchmarks/{path.name}"] = about[1].removesuffix('"""') if about else ""
    return found


SECTIONS = {
    "Commands and flags": commands,
    "JSON keys": json_keys,
    "Names of the face": face,
    "Members of its classes": members,
    "Shipped": shipped,
    "Code blocks of pages": code_blocks,
    "Make targets and benchmarks": targets,
}


def page(inventory: dict[str, Names], decisions: dict[str, Names]) -> str:
    """The table as Markdown."""
    parts, empty, whole = [], 0, 0
    for section, names in inventory.items():
        parts += [f"\n## {section}\n", "| today | | kept / renamed / moved / dropped and why |"]
        parts += ["|---|---|---|"]
        for name, about in names.items():
            decided = decision(decisions.get(section, {}), name)
            whole, empty = whole + 1, empty + (not decided)
            about = " ".join(about.split())
            short = about if len(about) <= 90 else f"{about[:89]}…"
            parts.append(f"| {_cell(name, '`')} | {_cell(short)} | {decided} |")
    head = [
        "# What exists at 2e23627",
        "",
        "Written by `python -m tests.oracles.inventory` from `data/inventory.json` and",
        f"`data/decisions.json`; edit the latter. {whole - empty} of {whole} names are decided.",
    ]
    return "\n".join([*head, *parts]) + "\n"


def decision(said: Names, name: str) -> str:
    """The decision for a name: its own, or that of the longest beginning that ends in "*"."""
    if name in said:
        return said[name]
    wide = [key for key in said if key.endswith("*") and name.startswith(key[:-1])]
    return said[max(wide, key=len)] if wide else ""


def _cell(text: str, quote: str = "") -> str:
    return f"{quote}{text}{quote}".replace("|", "\\|").replace("``", "") if text else ""


def load(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["collect"])
    if parser.parse_args().what:
        found = {section: collect() for section, collect in SECTIONS.items()}
        (DATA / "inventory.json").write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n")
    PAGE.write_text(page(load("inventory"), load("decisions")))


if __name__ == "__main__":
    main()
