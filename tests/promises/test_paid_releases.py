"""What a release was paid for is on disk once and stays there as it was written."""

from __future__ import annotations

from pathlib import Path

from tests.promises.adapter import explorer_of_auction, released_by

PRICES = "group,advertiser,price\n0,0,0.3\n0,1,0.6\n1,0,0.5\n1,1,0.2\n"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_release_of_the_explorer_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """Also of an explorer that is started again, with the same folder for what it writes."""
    prices, ledger = tmp_path / "prices.csv", tmp_path / "ledger.sqlite"
    prices.write_text(PRICES)
    written: dict[Path, dict[str, bytes]] = {}
    for _ in range(2):
        explorer = explorer_of_auction(
            prices=prices,
            ledger=ledger,
            account="site",
            total=(4, "4/1000"),
            out=tmp_path / "out",
        )
        for _ in range(2):
            folder = released_by(explorer, epsilon=1, delta="1/1000")
            assert folder not in written
            written[folder] = contents(folder)
            assert "release.npz" in written[folder]
            assert all(contents(earlier) == found for earlier, found in written.items())
    assert len({found["release.npz"] for found in written.values()}) == 4
