"""One model from nothing: ours against general LP solvers and Storm."""

from __future__ import annotations

from functools import partial

from benchmarks import peers
from benchmarks.measurement import Clock, Measured, measure
from benchmarks.problems import grid_cmdp
from benchmarks.records import Records
from dp_cmdp import CMDP

#: Relative difference of two values that is more than their precision explains.
DISAGREEMENT = 1e-5


def single(
    n: int,
    *,
    records: Records,
    clock: Clock,
    limit: float,
    general: bool = True,
    storm: bool = True,
    gap: float = 1e-8,
) -> None:
    """The n×n grid; a line per peer, and one for the best general LP solver."""
    model, small = grid_cmdp(n), grid_cmdp(4)
    name = "single"
    mine = measure(partial(peers.ours, gap=gap), model, small=small, limit=1200, clock=clock)
    found = {}
    if storm:
        found["storm"] = measure(peers.storm, model, small=small, limit=limit, clock=clock)
    if general:
        for peer, prepare in peers.GENERAL.items():
            found[peer] = measure(prepare, model, small=small, limit=limit, clock=clock, repeats=3)
        best = best_general(found)
        if best is not None:
            found["best general LP solver"] = found[best]
    if not found:
        found["none"] = Measured(status="no peer at this size")
    for peer in sorted(found, key=lambda peer: not peer.startswith("best")):
        which = best_general(found) if peer.startswith("best") else None
        _line(name, model, mine=mine, peer=peer, theirs=found[peer], records=records, which=which)


def best_general(found: dict[str, Measured]) -> str | None:
    """The fastest general LP solver that finished; of those that did not, any."""
    names = [peer for peer in peers.GENERAL if found[peer].seconds is not None]
    done = [peer for peer in names if found[peer].status == "ok"]
    return min(done or names, key=lambda peer: found[peer].seconds or 0.0, default=None)


def _line(
    name: str,
    model: CMDP,
    *,
    mine: Measured,
    peer: str,
    theirs: Measured,
    records: Records,
    which: str | None,
) -> None:
    more: dict[str, object] = {"status": theirs.status, "peak_gib": mine.peak_gib}
    if mine.status != "ok":
        more["ours_status"] = mine.status
    if which is not None:
        more["which"] = which
    if mine.answer and theirs.answer:
        difference = abs(theirs.answer[0] - mine.answer[0]) / max(abs(mine.answer[0]), 1e-300)
        more["difference"] = difference
        if difference > DISAGREEMENT:
            more["status"] = "disagrees"
    records.add(
        name,
        model.num_states,
        ours_s=mine.seconds,
        peer=peer,
        peer_s=theirs.seconds,
        gap=mine.answer[1] if mine.answer else None,
        **more,
    )
