"""What tabs with linear programs share: pictures, the table of answers, what is certain."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from dp_cmdp.explorer.page.parts import SMALL, TABLE, card, scrolling
from dp_cmdp.explorer.words import guarantee_words, saturation_words


class ProgramPictures:
    """The cards with what was released, and with the answers: pictures, and the numbers."""

    def __init__(self) -> None:
        with card("What was released"):
            self._released = _Shown("released intervals within their public bounds")
        with card("The answers"):
            self._answers = _Shown("the private answer and the robust one")

    def show(self, pictures: Sequence[bytes]) -> None:
        """PNGs of :data:`dp_cmdp.explorer.files.PICTURES`."""
        for place, picture in zip((self._released, self._answers), pictures, strict=True):
            place.image.set_source("data:image/png;base64," + base64.b64encode(picture).decode())

    def show_answers(self, answers: Mapping[str, Any]) -> None:
        """A row for each variable, for each inequality of the private answer, and each entry."""
        import pandas as pd

        first = next(iter(answers.values()))
        found = {name: answer.x for name, answer in answers.items()}
        frames = [("variable", pd.DataFrame(found, index=first.to_frame().index))]
        if (proof := first.certificate) is not None:
            slack = pd.DataFrame({"slack at least": proof.slack}, index=list(proof.names))
            frames.append(("inequality", slack))
        self._answers.tell(frames)
        if first.release is not None:
            self._released.tell([("number", first.release.to_frame())])


class _Shown:
    """A picture that waits for its source, and tables below it."""

    def __init__(self, meaning: str) -> None:
        self.image = ui.image().classes("w-full max-w-4xl min-h-40 md:min-h-64")
        self.image.props(f'fit=contain alt="{meaning}"')
        self._tables = ui.column().classes("w-full")

    def tell(self, frames: Sequence[tuple[str, Any]]) -> None:
        """Tables of numbers, whose rows are named by the labels of the index."""
        self._tables.clear()
        with self._tables:
            for kind, frame in frames:
                heads = [kind, *(name.replace("_", " ") for name in frame.columns)]
                cells = zip(_labels(frame.index), frame.to_numpy(), strict=True)
                rows = [[name, *(f"{value:.6g}" for value in values)] for name, values in cells]
                columns = [
                    {"name": head, "label": head, "field": head, "align": "left"} for head in heads
                ]
                with scrolling(f"table of each {kind}"):
                    ui.table(
                        columns=columns,
                        rows=[dict(zip(heads, row, strict=True)) for row in rows],
                        row_key=kind,
                        pagination=10 if len(rows) > 10 else None,
                    ).classes(TABLE).props("dense flat bordered")


def _labels(index: Any) -> list[str]:
    """Labels as texts: "HOURS", "capacity: HOURS", "group 1, advertiser 2"."""
    if index.nlevels == 1:
        return [str(label) for label in index]
    if list(index.names) == ["group", "label"]:
        return [f"{group}: {_text(label)}" for group, label in index]
    return [
        ", ".join(f"{name} {part}" for name, part in zip(index.names, label, strict=True))
        for label in index
    ]


def _text(label: Any) -> str:
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def tell_answer(place: ui.column, answer: Any, *more: str) -> None:
    """What is certain of an answer, how silent its release is, and what is promised to whom."""
    proof, release = answer.certificate, answer.release
    certain = (
        "Every inequality holds for everything the release allows, hence for the true data, with "
        f"certainty (least slack {proof.worst_slack:.3g}, exact arithmetic)."
        if proof
        else "NOT PROVED: this answer must not be used."
    )
    place.clear()
    with place:
        for text in (
            certain,
            saturation_words(release.saturation),
            guarantee_words(release),
            *more,
        ):
            ui.label(text).classes(SMALL)
