"""What tabs with linear programs share: pictures, the table of answers, what is certain."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from dp_cmdp.explorer.page.parts import SMALL, card
from dp_cmdp.explorer.words import guarantee_words, saturation_words


class ProgramPictures:
    """The cards with what was released, and with the answers."""

    def __init__(self) -> None:
        with card("What was released"):
            self._picture = ui.image().classes("w-full max-w-4xl")
            self._picture.props('fit=contain alt="released intervals within their public bounds"')
        with card("The answers"):
            self._allocation = ui.image().classes("w-full max-w-4xl")
            self._allocation.props('fit=contain alt="the private answer and the robust one"')
            self._answers = ui.column().classes("w-full")

    def show(self, pictures: Sequence[bytes]) -> None:
        """PNGs of :data:`dp_cmdp.explorer.files.PICTURES`."""
        for place, picture in zip((self._picture, self._allocation), pictures, strict=True):
            place.set_source("data:image/png;base64," + base64.b64encode(picture).decode())

    def show_answers(self, answers: Mapping[str, Any]) -> None:
        """A table with a row for each variable, and a column for each answer."""
        names = _labels(next(iter(answers.values())))
        rows = [
            {"variable": name, **{key: f"{found.x[i]:.6g}" for key, found in answers.items()}}
            for i, name in enumerate(names)
        ]
        columns = [
            {"name": key, "label": key, "field": key, "align": "left"}
            for key in ("variable", *answers)
        ]
        self._answers.clear()
        with self._answers:
            ui.table(columns=columns, rows=rows, row_key="variable", pagination=10).classes(
                "w-full"
            ).props("dense flat bordered")


def _labels(answer: Any) -> Sequence[str]:
    """Names of the variables, such as "group 1, advertiser 2"."""
    index = answer.to_frame().index
    if index.nlevels == 1:
        return [str(label) for label in index]
    return [
        ", ".join(f"{name} {part}" for name, part in zip(index.names, label, strict=True))
        for label in index
    ]


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
