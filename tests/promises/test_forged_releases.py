"""A release file that says what no noise makes of any database within the bounds is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.promises.adapter import (
    Envelope,
    Release,
    claimed_for,
    is_proved,
    linear_program,
    query_weights,
    redrawn,
    reweighted,
    solve,
)

#: Public bounds of every entry.
LOW, HIGH = 0.0, 1.0


def proved(release: Release, folder: Path) -> bool:
    return is_proved(release.save(folder / "release.npz"))


@pytest.fixture(scope="module")
def entries() -> Release:
    """Three entries, one noise each, far from the public bounds."""
    theta = Envelope([LOW] * 3, [HIGH] * 3, radius=2.0**-6, records=[0, 0, 1])
    lp = linear_program(theta, maximize=[1.0, 1.0], rows=[{0: 0, 1: 1}], limits=[2], upper=10.0)
    release = solve(lp, [0.5] * 3, epsilon=2, delta="1/1000", strategy="entries").release
    assert (release.lower > LOW).all()
    assert (release.upper < HIGH).all()
    return release


@pytest.mark.parametrize("entry", [0, 1, 2])
@pytest.mark.parametrize("beyond", [1e-6, 1e-3, 5.0])
def test_an_interval_that_lies_beyond_the_public_bounds_is_refused(
    entries: Release, tmp_path: Path, entry: int, beyond: float
) -> None:
    """Cut to the bounds it would say that the entry is the bound itself."""
    width = entries.upper[entry] - entries.lower[entry]
    for lowest in (HIGH - 1e-3, LOW - width + 1e-3):  # as the noise of an entry at its bound may be
        assert proved(redrawn(entries, entry, lowest=lowest), tmp_path)
    for lowest in (HIGH + beyond, LOW - width - beyond):
        forged = redrawn(entries, entry, lowest=lowest)
        assert forged.lower[entry] >= forged.upper[entry]
        assert not proved(forged, tmp_path)


@pytest.fixture(scope="module")
def queries() -> Release:
    """One measured sum of entries of one weight, of which the last can change least."""
    size = 12
    theta = Envelope([0.05] * size, [1.0] * size, radius=[0.25] * 6 + [2.0**-5] * 4 + [2.0**-8] * 2)
    lp = linear_program(
        theta,
        maximize=np.linspace(1.0, 2.0, size),
        rows=[{j: j for j in range(size)}],
        limits=[2.0],
        upper=1.0,
    )
    return solve(lp, [0.5] * size, epsilon=2, delta="1/1000", strategy="queries").release


def test_a_measured_sum_that_weighs_one_entry_more_is_refused(
    queries: Release, tmp_path: Path
) -> None:
    """Whoever owns the entry moves the sum by more than its noise hides."""
    assert proved(queries, tmp_path)
    weights = query_weights(queries)
    weighed = np.flatnonzero(weights.any(axis=0))
    assert weighed.size > 1
    for entry in weighed.tolist():
        forged = reweighted(queries, entry, factor=2**12)
        assert np.array_equal(query_weights(forged)[:, entry], 2**12 * weights[:, entry])
        assert not proved(forged, tmp_path), entry


@pytest.mark.parametrize("strategy", ["entries", "queries"])
@pytest.mark.parametrize("apart", [True, False])
def test_noise_for_single_entries_does_not_protect_records_of_two(
    tmp_path: Path, strategy: str, apart: bool
) -> None:
    """Whether a record meets one sum with both of its entries, or two sums with one each."""
    size, half = 12, 6
    theta = Envelope([0.05] * size, [1.0] * size, radius=0.25)
    lp = linear_program(
        theta,
        maximize=[1.0] * size,
        rows=[{j: j for j in range(half)}, {j: j for j in range(half, size)}],
        limits=[1.0, 1.0],
        upper=1.0,
    )
    release = solve(lp, [0.5] * size, epsilon=2, delta="1/1000", strategy=strategy).release
    own = np.arange(size)
    assert proved(claimed_for(release, own), tmp_path)
    assert not proved(claimed_for(release, own % half if apart else own // 2), tmp_path)
