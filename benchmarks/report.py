"""Fill the tables of docs/performance.md from the JSON lines of a run.

    python benchmarks/report.py                                    the newest run in out/bench
    python benchmarks/report.py --rows out/bench/quick.jsonl --rows out/bench/full.jsonl

Where two runs have lines of the same name, size and case, those of the last count. A table stands
between ``<!-- bench:begin NAME -->`` and ``<!-- bench:end -->``; without lines for it, it stays as
it is. Long tables are files in a folder of the page's name beside it, ``performance/NAME.csv``. The
figures of families are drawn into a folder beside the page.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.family_figure import family_figures
from benchmarks.records import read_lines, select
from dp_cmdp._src.base.storage import write_text

Lines = list[dict[str, Any]]
#: Folder of the families' figures, beside the page.
FIGURES = "families"
#: Sizes that the summary of families shows.
LARGE = ("1,000", "10,000")
MARKED = re.compile(r"(<!-- bench:begin ([\w-]+) -->\n).*?(<!-- bench:end -->)", re.DOTALL)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; empty without rows."""
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def number(value: float | None, *, unit: str = "", digits: int = 3) -> str:
    if value is None:
        return "–"
    text = f"{value:.{digits}g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{text}{unit}" if "e+" not in text else f"{value:,.0f}{unit}"


def seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return number(1e3 * value, unit=" ms") if value < 1.0 else number(value, unit=" s")


def _bound(line: dict[str, Any], text: str) -> str:
    """Times and ratios of a peer that was stopped are lower bounds; one that differs is marked."""
    status = line.get("status", "ok")
    if status == "time limit":
        return f"> {text}"
    return text if status == "ok" or text == "–" else f"{text} ({status})"


def family_table(lines: Lines) -> str:
    """Median ratios over seeds, to the best of HiGHS's methods: a row per family and size."""
    usual = [
        line
        for line in select(lines, "family", limits="tight", start="uniform")
        if line["peer"] != "storm" and line["ratio"]
    ]
    cells = cell_medians(usual, ("family", "size", "costs", "gamma"))
    late = {(x["family"], x["size"], x["costs"], x["gamma"]) for x in usual if x["status"] != "ok"}
    heads = sorted({key[2:] for key in cells})
    rows = []
    for family, size in sorted({key[:2] for key in cells}):
        row = [family, f"{size:,}"]
        for head in heads:
            key = (family, size, *head)
            mark = "> " if key in late else ""
            row.append(mark + number(cells[key], unit="×") if key in cells else "")
        rows.append(row)
    return table(["family", "states", *(f"K = {K}, γ = {g:g}" for K, g in heads)], rows)


def family_summary(lines: Lines) -> str:
    """Median and least of the ratios of :func:`family_table` by family, for its two large sizes."""
    _, _, *cells = rows_of(family_table(lines)) or ["", ""]
    found: dict[str, dict[str, list[float]]] = {}
    for family, size, *ratios in cells:
        ratios = [float(ratio.strip("> ×").replace(",", "")) for ratio in ratios if ratio]
        found.setdefault(family, {})[size] = ratios
    rows = [
        [family, *(number(f(by[size]), unit="×") for size in LARGE for f in (median, min))]
        for family, by in found.items() if set(LARGE) <= set(by)
    ]  # fmt: skip
    head = [f"{size} states, median" for size in LARGE]
    return table(["family", head[0], "smallest", head[1], "smallest"], rows)


def rows_of(made: str) -> list[list[str]]:
    """The lines of a Markdown table as cells; the second is the rule below the head."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in made.splitlines()]


def cell_medians(lines: Lines, keys: Sequence[str]) -> dict[tuple[Any, ...], float]:
    """Median ratio over seeds per value of the keys."""
    found: dict[tuple[Any, ...], list[float]] = {}
    for line in lines:
        found.setdefault(tuple(line[name] for name in keys), []).append(line["ratio"])
    return {key: median(ratios) for key, ratios in found.items()}


def variants(lines: Lines) -> str:
    """Other limits and starts, one line per case."""
    rows = [
        [line["family"], f"{line['size']:,}", f"{line['gamma']:g}", str(line["costs"]),
         line["limits"], line["start"], seconds(line["ours_s"]), line["peer"] or "–",
         _bound(line, seconds(line["peer_s"])), _bound(line, number(line["ratio"], unit="×"))]
        for line in select(lines, "family")
        if (line["limits"], line["start"]) != ("tight", "uniform")
    ]  # fmt: skip
    head = ["family", "states", "γ", "K", "limits", "start", "ours", "best peer", "its time",
            "ratio"]  # fmt: skip
    return table(head, rows)


def storm(lines: Lines) -> str:
    rows = [
        [line["family"], f"{line['size']:,}", f"{line['gamma']:g}", str(line["seed"]),
         seconds(line["ours_s"]), _bound(line, seconds(line["peer_s"])),
         _bound(line, number(line["ratio"], unit="×"))]
        for line in select(lines, "family", peer="storm")
    ]  # fmt: skip
    return table(["family", "states", "γ", "seed", "ours", "Storm", "ratio"], rows)


def lost(lines: Lines) -> str:
    """Where the best peer is faster: every such case. Empty for a run without families."""
    rows = [
        [line["key"], seconds(line["ours_s"]), line["peer"], seconds(line["peer_s"]),
         number(line["ratio"], unit="×")]
        for line in select(lines, "family") if line["ratio"] and line["ratio"] < 1.0
    ]  # fmt: skip
    none = "None.\n" if select(lines, "family") else ""
    return table(["case", "ours", "peer", "its time", "ratio"], rows) or none


def synthesis(lines: Lines) -> str:
    rows = [
        [line["call"], line["family"], f"{line['size']:,}", seconds(line["ours_s"]),
         seconds(line["peer_s"]), number(line["overhead"], unit="×")]
        for line in select(lines, "synthesis")
    ]  # fmt: skip
    return table(["call", "family", "states", "its time", "a solve", "overhead"], rows)


def largest(lines: Lines) -> str:
    rows = [
        [line["family"], f"{line.get('states', line['size']):,}", number(line.get("transitions")),
         _bound(line, seconds(line["ours_s"])), number(line["gap"], digits=2),
         number(line.get("us_per_state")), number(line.get("us_per_transition")),
         number(line["peak_gib"], unit=" GiB"), number(line.get("peak_bytes_per_state")),
         number(line.get("peak_bytes_per_transition"))]
        for line in select(lines, "largest")
    ]  # fmt: skip
    head = ["model", "states", "transitions", "solve", "gap", "µs per state", "µs per transition",
            "peak memory", "bytes per state", "bytes per transition"]  # fmt: skip
    return table(head, rows)


def single(lines: Lines) -> str:
    rows = [
        [f"{line['size']:,}", seconds(line["ours_s"]), number(line["gap"], digits=2),
         number(line["peak_gib"], unit=" GiB", digits=2), _peer(line),
         _bound(line, seconds(line["peer_s"])), _bound(line, number(line["ratio"], unit="×"))]
        for line in sorted(select(lines, "single"), key=lambda line: line["size"])
    ]  # fmt: skip
    head = ["states", "ours", "certified gap", "peak memory", "peer", "its time", "ratio"]
    return table(head, rows)


def _peer(line: dict[str, Any]) -> str:
    which = line.get("which")
    status = line.get("status", "ok")
    note = "" if line["peer_s"] is not None or status == "ok" else f" ({status})"
    return f"{line['peer']}: {which}" if which else f"{line['peer']}{note}"


def sweep(lines: Lines) -> str:
    rows = [
        [f"{line['size']:,}", number(line["radius"]), seconds(line["ours_s"]), line["peer"],
         _bound(line, seconds(line["peer_s"])), _bound(line, number(line["ratio"], unit="×")),
         f"{line['draws']:,} / {line['peer_draws']:,}"]
        for line in sorted(select(lines, "sweep"), key=lambda x: (-x["radius"], x["size"]))
    ]  # fmt: skip
    head = ["states", "radius", "ours per solve", "peer", "its time per solve", "ratio", "draws"]
    return table(head, rows)


def grids(lines: Lines) -> str:
    rows = [
        [f"{line['size']:,}", str(line.get("costs", 1)), number(line["radius"]), str(line["grid"]),
         seconds(line["ours_s"]), seconds(line["peer_s"]),
         number(line.get("median_ratio", line["ratio"]), unit="×"),
         number(_clock_ratio(line), unit="×")]
        for line in select(lines, "grids")
    ]  # fmt: skip
    head = ["states", "K", "radius", "seed", "ours per solve", "highs warm", "ratio"]
    return table([*head, "by the clock"], rows)


def _clock_ratio(line: dict[str, Any]) -> float | None:
    if line.get("peer_clock_s") and line.get("ours_clock_s"):
        return line["peer_clock_s"] / line["ours_clock_s"]
    return line.get("clock_ratio")


def general(lines: Lines) -> str:
    rows = [
        [f"{line['size']:,}", seconds(line["ours_s"]), line["peer"], seconds(line["peer_s"]),
         number(line["overhead"], unit="×"), str(line["runs"])]
        for line in select(lines, "general LP")
    ]  # fmt: skip
    head = ["variables", "private, in all", "against", "its time", "overhead", "runs"]
    return table(head, rows)


def lp_files(lines: Lines) -> str:
    """Medians over seeds per file and kind of solve, and what all files of 10 ms or more say."""
    found = select(lines, "lp files")
    kinds = list(dict.fromkeys(line["solve"] for line in found))
    rows = []
    for case in dict.fromkeys(line["case"] for line in found):
        parts = [line for line in found if line["case"] == case and line["peer_s"]]
        row = [case, f"{max(line['size'] for line in parts):,}",
               seconds(median(line["peer_s"] for line in parts))]  # fmt: skip
        for kind in kinds:
            ratios = [x["overhead"] for x in parts if x["solve"] == kind and x["overhead"]]
            row.append(number(median(ratios), unit="×") if ratios else "no point for all")
        rows.append(row)
    large = [x for x in found if x["overhead"] and x["peer_s"] >= 0.01]
    for label, choose in (("median from 10 ms on", median), ("largest from 10 ms on", max)):
        cells = [number(choose(x["overhead"] for x in large if x["solve"] == kind), unit="×")
                 for kind in kinds]  # fmt: skip
        rows.append([label, "", "", *cells])
    return table(["file", "coefficients", "plain", *kinds], rows)


def growth(lines: Lines) -> str:
    rows = [
        [line["quantity"], f"{line['size']:,}" if line["size"] else "all above",
         number(line["exponent"]), str(line["points"])]
        for line in select(lines, "exponent") if line["exponent"] is not None
    ]  # fmt: skip
    return table(["time grows with", "states", "exponent", "points"], rows)


def limit(lines: Lines) -> str:
    rows = [
        [f"{line['size']:,}", seconds(line["ours_s"]), line["peer"], seconds(line["peer_s"]),
         number(line["passes"])]
        for line in select(lines, "limit")
    ]  # fmt: skip
    return table(["states", "ours", "limit", "its time", "passes"], rows)


def first_use(lines: Lines) -> str:
    rows = [
        [line["peer"], seconds(line["ours_s"]), seconds(line.get("solve_s"))]
        for line in select(lines, "first use")
    ]
    return table(["installation", "imports and solve", "solve alone"], rows)


def machine(lines: Lines) -> str:
    skipped = ("name", "size", "ours_s", "peer", "peer_s", "ratio", "gap", "part")
    found = [line for line in lines if line["name"] == "machine"]
    rows = [[key, str(x)] for line in found for key, x in line.items() if key not in skipped]
    return table(["", ""], rows)


TABLES: dict[str, Callable[[Lines], str]] = {
    "families": family_table,
    "families-summary": family_summary,
    "variants": variants,
    "storm": storm,
    "lost": lost,
    "synthesis": synthesis,
    "largest": largest,
    "single": single,
    "sweep": sweep,
    "grids": grids,
    "general-lp": general,
    "lp-files": lp_files,
    "growth": growth,
    "limit": limit,
    "first-use": first_use,
    "machine": machine,
}


def filled(text: str, lines: Lines) -> str:
    """The page with every table that the lines can make."""

    def replace(found: re.Match[str]) -> str:
        made = TABLES[found[2]](lines) if found[2] in TABLES else ""
        return f"{found[1]}\n{made}\n{found[3]}" if made else found[0]

    return MARKED.sub(replace, text)


def write_files(folder: Path, lines: Lines) -> None:
    """Every table that has a file already, where the lines can make it."""
    for path in folder.glob("*.csv"):
        head, _, *rows = rows_of(TABLES.get(path.stem, lambda _: "")(lines)) or [[], []]
        if rows:
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows([head, *rows])
            write_text(path, text.getvalue())


def merged(runs: Sequence[Lines]) -> Lines:
    """The lines of several runs; a later one replaces all of a name, size and case it measured."""
    found: dict[tuple[str, int | None, str], Lines] = {}
    for lines in runs:
        parts: dict[tuple[str, int | None, str], Lines] = {}
        for line in lines:
            parts.setdefault((line["name"], line["size"], line.get("key", "")), []).append(line)
        found |= parts
    return [line for part in found.values() for line in part]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=Path, action="append", help="may be repeated")
    parser.add_argument("--page", type=Path, default=Path("docs/performance.md"))
    options = parser.parse_args()
    newest = sorted(Path("out/bench").glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    if options.rows is None and not newest:
        parser.error("out/bench holds no run; call make bench-quick first")
    paths = options.rows or newest[-1:]
    text = options.page.read_text(encoding="utf-8")
    lines = merged([read_lines(path) for path in paths])
    write_text(options.page, filled(text, lines))
    write_files(options.page.with_suffix(""), lines)
    if options.page.stem == "performance":
        family_figures(lines, options.page.parent / FIGURES)
    print(f"{options.page} filled from {', '.join(map(str, paths))}")


if __name__ == "__main__":
    main()
