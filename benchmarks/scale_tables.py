"""The tables of docs/scale.md, from the records of ``dp-cmdp reproduce scale``.

    python benchmarks/scale_tables.py out/scale/scale.sqlite --draws 100

Fills what stands between ``<!-- scale:begin NAME -->`` and ``<!-- scale:end -->``.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from dp_cmdp.experiments import scale
from dp_cmdp.experiments.records import RecordStore
from dp_cmdp.figures import save_figure, scale_figure

PAGE = Path("docs/scale.md")
#: On grids from anywhere the plan should lose at most one part in so many of the database release.
ASKED = 20
Rows = list[dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chunks = scale.sweep(draws=options.draws, seed=options.seed).chunks()
    store = RecordStore(options.records)
    done = store.done()
    found = [chunk for chunk in chunks if chunk.key in done]
    records = pd.DataFrame(store.rows(found))
    rows = scale.rows(records)
    page = PAGE.read_text(encoding="utf-8")
    tables = {
        "one": _at_one(rows),
        "epsilon": _against_epsilon(rows),
        "grids": _grid_by_grid(records),
    }
    for name, table in tables.items():
        page = re.sub(
            rf"(<!-- scale:begin {name} -->\n).*?(<!-- scale:end -->)",
            lambda match, table=table: f"{match[1]}\n{table}\n\n{match[2]}",
            page,
            flags=re.S,
        )
    PAGE.write_text(page, encoding="utf-8")
    print(save_figure(scale_figure(rows), PAGE.with_suffix(".png")))
    print(f"{len(found)} of {len(chunks)} chunks of records")
    print(scale.summary(rows)["note"])


def _by_method(rows: Rows) -> dict[tuple[Any, ...], dict[str, dict[str, Any]]]:
    """Rows of one setting together, by method; the robust answer belongs to every δ and ε."""
    found: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in rows:
        if row["method"] != "robust":
            key = tuple(row[name] for name in ("problem", "size", "radius", "delta", "epsilon"))
            found.setdefault(key, {})[row["method"]] = row
    for row in rows:
        if row["method"] == "robust":
            for key, methods in found.items():
                if key[:3] == (row["problem"], row["size"], row["radius"]):
                    methods["robust"] = row
    return found


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) >= 5e-4 or value == 0 else f"{value:.1e}"


def _interval(row: dict[str, Any]) -> str:
    mean, low, high = (
        _number(row[name]) for name in ("suboptimality_percent", "ci_low", "ci_high")
    )
    return f"{mean} [{low}, {high}]"


def _plan(told: str | None) -> str:
    """``totals(share=0.35, …) in 12 of 20`` as ρ = 0.35 (12)."""
    counts: Counter[str] = Counter()
    for part, count in re.findall(r"(database|totals\([^)]*\))(?: in (\d+) of \d+)?", told or ""):
        share = re.search(r"share=([\d.]+)", part)
        counts[f"ρ = {share[1]}" if share else "entries"] += int(count or 0)
    one = len(counts) == 1
    return ", ".join(word if one else f"{word} ({count})" for word, count in counts.most_common())


def _table(head: list[str], lines: list[list[str]]) -> str:
    listed = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in listed)


def _at_one(rows: Rows) -> str:
    head = ["problem", "size", "radius", "δ", "robust", "Algorithm 1", "database", "planned",
            "planned/database", "95th percentile", "limit", "plan", "draws"]  # fmt: skip
    lines = []
    for (problem, size, radius, delta, epsilon), own in _by_method(rows).items():
        if epsilon != 1 or "planned" not in own or "database" not in own:
            continue
        planned, base = own["planned"], own["database"]["suboptimality_percent"]
        ratio = planned["suboptimality_percent"] / base if base > 1e-9 else None
        lines.append([
            problem, f"{size:,}", f"{radius:g}", f"{delta:g}",
            _number(own["robust"]["suboptimality_percent"]),
            _number(own["benvenuti2025"]["suboptimality_percent"]),
            _interval(own["database"]), f"**{_interval(planned)}**",
            "–" if ratio is None else f"{ratio:.2g}",
            "–" if planned["ratio_95"] is None else f"{planned['ratio_95']:.2g}",
            _number(own["limit"]["suboptimality_percent"]) if "limit" in own else "–",
            _plan(planned["plan"]), str(planned["draws"]),
        ])  # fmt: skip
    return _table(head, lines)


def _against_epsilon(rows: Rows) -> str:
    steps = (0.5, 1.0, 2.0, 4.0)
    found = _by_method(rows)
    places = {key[:4]: None for key in found if abs(key[3] - 1e-3) < 1e-12}
    lines = []
    for place in places:
        cells = []
        for epsilon in steps:
            own = found.get((*place, epsilon), {})
            if "planned" not in own or "database" not in own:
                cells.append("–")
                continue
            base = _number(own["database"]["suboptimality_percent"])
            told = f"{base} → **{_interval(own['planned'])}**"
            limit = own.get("limit")
            if limit and place[0].startswith("grid") and limit["draws"] < own["planned"]["draws"]:
                limit = None  # of other grids than the losses
            cells.append(told + (f" ({_number(limit['suboptimality_percent'])})" if limit else ""))
        if cells.count("–") < len(steps) - 1:
            lines.append([place[0], f"{place[1]:,}", f"{place[2]:g}", *cells])
    return _table(["problem", "size", "radius", "ε = ½", "1", "2", "4"], lines)


def _grid_by_grid(records: pd.DataFrame) -> str:
    """Fresh grids at ε = 1: how many have a limit above what was asked, and what the others do."""
    head = ["problem", "size", "radius", "grids", "database", "planned", "limit",
            f"limit above database/{ASKED}", "planned/database: all grids", "the other grids",
            "median"]  # fmt: skip
    is_fresh = records["problem"].str.startswith("grid") & (records["epsilon"] == "1")
    lines = []
    for (problem, size, radius), part in records[is_fresh].groupby(["problem", "size", "radius"]):
        grid = (part["draw"] // scale.NOISES_PER_GRID).rename("grid")
        lost = 100.0 * part.groupby([grid, "method"])["suboptimality"].mean().unstack()
        ratio = lost["planned"] / lost["database"]
        has_limit = "limit" in lost and bool(lost["limit"].notna().all())
        limit = lost["limit"] if has_limit else pd.Series(0.0, lost.index)
        out = limit > lost["database"] / ASKED
        others = lost[~out]
        lines.append([
            str(problem), str(size), f"{radius:g}", str(len(lost)),
            _number(lost["database"].mean()), _number(lost["planned"].mean()),
            _number(limit.mean()) if has_limit else "–",
            str(int(out.sum())) if has_limit else "–",
            _fraction(lost["planned"].mean() / lost["database"].mean()),
            _fraction(others["planned"].mean() / others["database"].mean()) if has_limit else "–",
            _fraction(ratio.median()),
        ])  # fmt: skip
    return _table(head, lines)


def _fraction(ratio: float) -> str:
    return f"1/{1.0 / ratio:.3g}" if 0 < ratio <= 0.5 else f"{ratio:.2g}"


if __name__ == "__main__":
    main()
