"""What is required of the solver, beside what a run measured: medians over seeds.

A cell "–" says that the run has no such line. Ratios of peers that were stopped are lower bounds,
marked ``> ``.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Any

from benchmarks.records import select

Lines = list[dict[str, Any]]
#: Requirement, what it must be, what was measured, whether it is met; all as text.
Row = list[str]

HIPO = "highs hipo"
#: How many times HiGHS's own time a solve may take where it cannot win.
HANDED_OVER = 1.5


def requirement_rows(lines: Lines) -> list[Row]:
    """One row per requirement."""
    usual = [
        line
        for line in select(lines, "family", limits="tight", start="uniform")
        if line["peer"] != "storm" and line["ratio"]
    ]
    return [
        *_every_family([x for x in usual if 1_000 <= x["size"] <= 10_000 and x["costs"] <= 3]),
        _handed_over(lines),
        *(
            _hipo(f"corridor 10,000, γ {gamma:g}, against HiPO", usual, 2.0,
                  family="corridor", size=10_000, gamma=gamma, costs=1)
            for gamma in (0.999, 0.9999)
        ),
        *(
            _hipo(f"grid 10⁴, K = {K}, against HiPO", usual, least,
                  family="grid", size=10_000, gamma=0.99, costs=K)
            for K, least in ((1, 100.0), (2, 40.0), (3, 25.0), (5, 10.0))
        ),
        _storm(lines),
        *_million(lines),
        *_sweeps(lines),
        *_synthesis(lines),
        *_first_use(lines),
    ]  # fmt: skip


def cell_medians(lines: Lines, keys: Iterable[str]) -> dict[tuple[Any, ...], float]:
    """Median ratio over seeds per value of the keys."""
    names, found = tuple(keys), {}
    for line in lines:
        found.setdefault(tuple(line[name] for name in names), []).append(line["ratio"])
    return {key: median(ratios) for key, ratios in found.items()}


def _at_least(label: str, least: float, measured: float | None, note: str = "") -> Row:
    if measured is None:
        return [label, f"≥ {least:g}×", "–", "–"]
    met = "yes" if measured >= least else "**no**"
    return [label, f"≥ {least:g}×", f"{note}{measured:.3g}×", met]


def _at_most(label: str, most: float, measured: float | None, *, unit: str) -> Row:
    if measured is None:
        return [label, f"≤ {most:g}{unit}", "–", "–"]
    met = "yes" if measured <= most else "**no**"
    return [label, f"≤ {most:g}{unit}", f"{measured:.3g}{unit}", met]


def _every_family(lines: Lines) -> list[Row]:
    cells = cell_medians(lines, ("family", "size", "gamma", "costs"))
    worst = min(cells, key=cells.__getitem__, default=None)
    families = {family: median(v for k, v in cells.items() if k[0] == family)
                for family in {key[0] for key in cells}}  # fmt: skip
    where = "" if worst is None else " ({}, {:,} states, γ {:g}, K = {})".format(*worst)
    least = cells[worst] if worst is not None else None
    return [
        _at_least(f"slowest of every family, γ and K, 10³…10⁴ states{where}", 1.0, least),
        _at_least("median over families", 10.0, median(families.values()) if families else None),
    ]


def _handed_over(lines: Lines) -> Row:
    """The largest share of the best method's time that any single case took."""
    found = [line for line in select(lines, "family") if line["ratio"] and line["peer"] != "storm"]
    worst = max((1.0 / line["ratio"] for line in found), default=None)
    return _at_most("every case, share of HiGHS's own time", HANDED_OVER, worst, unit="×")


def _hipo(label: str, lines: Lines, least: float, **match: Any) -> Row:
    found = select(lines, "family", **match)
    texts = [str(line["methods"].get(HIPO, "")) for line in found]
    ratios, bound = [], ""
    for line, text in zip(found, texts, strict=True):
        words = text.removeprefix("> ").split()
        if words and words[0].replace(".", "", 1).replace("e-", "", 1).isdigit():
            ratios.append(float(words[0]) / line["ours_s"])
            bound = "> " if text.startswith("> ") else bound
    return _at_least(label, least, median(ratios) if ratios else None, bound)


def _storm(lines: Lines) -> Row:
    found = [line for line in select(lines, "family", family="grid", size=100_000, peer="storm")
             if line["ratio"] and line["gamma"] == 0.99]  # fmt: skip
    bound = "> " if any(line["status"] == "time limit" for line in found) else ""
    ratio = median(line["ratio"] for line in found) if found else None
    return _at_least("grid 10⁵, K = 1, against Storm", 15.0, ratio, bound)


def _million(lines: Lines) -> list[Row]:
    found = [x for x in select(lines, "family", family="grid", size=1_000_000) if x["ours_s"]]
    done = [line for line in found if line["ours_status"] == "ok"]

    def worst(key: str) -> float | None:
        return max((line[key] for line in done), default=None)

    seconds = median(line["ours_s"] for line in done) if done else None
    return [
        _at_most("grid 10⁶, K = 1", 60.0, seconds, unit=" s"),
        _at_most("grid 10⁶, peak memory", 3.0, worst("peak_gib"), unit=" GiB"),
        _at_most("grid 10⁶, certified gap", 1e-6, worst("gap"), unit=""),
    ]


def _sweeps(lines: Lines) -> list[Row]:
    rows = []
    for costs, radius, least in ((1, 0.1, 10.0), (1, 0.02, 8.0), (2, 0.1, 5.0), (2, 0.02, 5.0)):
        found = select(lines, "grids", grid="median", radius=radius, costs=costs, size=1024)
        ratios = [line["median_ratio"] for line in found if line["median_ratio"]]
        label = f"sweep of 1,024 states, K = {costs}, radius {radius:g}, against warm HiGHS"
        row = _at_least(label, least, ratios[-1] if ratios else None)
        if ratios and (clocks := found[-1].get("clock_ratio")):
            row[2] += f"; by the clock {clocks:.3g}×"
            row[3] = "by the clock" if clocks >= least > ratios[-1] else row[3]
        rows.append(row)
    return rows


def _synthesis(lines: Lines) -> list[Row]:
    rows = []
    for call in ("answer(model)", "answer(problem, release)"):
        found = [x["overhead"] for x in select(lines, "synthesis", call=call) if x["overhead"]]
        label = f"`{call}` against its own solve, largest over sizes"
        rows.append(_at_most(label, 2.0, max(found, default=None), unit="×"))
    return rows


def _first_use(lines: Lines) -> list[Row]:
    rows = []
    for kind in ("wheel", "checkout"):
        found = [line["ours_s"] for line in select(lines, "first use", peer=f"{kind}, first")]
        label = f"first solve after installing a {kind}, imports included"
        rows.append(_at_most(label, 3.0, found[-1] if found else None, unit=" s"))
    return rows
