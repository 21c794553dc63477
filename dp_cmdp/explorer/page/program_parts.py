"""What tabs with linear programs share: pictures, the table of answers, what is certain."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from nicegui import ui

from dp_cmdp._check import FloatArray
from dp_cmdp.errors import InvalidArgumentError
from dp_cmdp.explorer.files import png
from dp_cmdp.explorer.page.parts import SMALL, card
from dp_cmdp.explorer.words import guarantee_words, saturation_words
from dp_cmdp.release.solve import PrivateAnswer


class ProgramPictures:
    """The cards with what was released, and with the answers."""

    def __init__(self) -> None:
        with card("What was released"):
            self._picture = ui.image().classes("w-full max-w-4xl")
            self._picture.props('fit=contain alt="released intervals within their public bounds"')
        with card("The answers"):
            self._answers = ui.column().classes("w-full")

    def show_release(self, picture: bytes) -> None:
        """A PNG of the release."""
        self._picture.set_source(data_address(picture))

    def show_allocations(self, picture: bytes) -> None:
        """A PNG of answers that are tables."""
        self._answers.clear()
        with self._answers:
            shown = ui.image(data_address(picture)).classes("w-full max-w-4xl")
            shown.props('fit=contain alt="visits sold, by group and advertiser"')

    def show_columns(self, names: Sequence[str], answers: Mapping[str, FloatArray]) -> None:
        """A table with a row for each variable, and a column for each answer."""
        rows = [
            {"column": name, **{key: f"{x[i]:.6g}" for key, x in answers.items()}}
            for i, name in enumerate(names)
        ]
        columns = [
            {"name": key, "label": key, "field": key, "align": "left"}
            for key in ("column", *answers)
        ]
        self._answers.clear()
        with self._answers:
            ui.table(columns=columns, rows=rows, row_key="column", pagination=10).classes(
                "w-full"
            ).props("dense flat bordered")


def allocation_picture(
    shape: tuple[int, int], answers: Mapping[str, FloatArray], *, title: str
) -> bytes:
    """Answers of an auction as a PNG."""
    from dp_cmdp.figures import allocation_figure

    tables = {name: x.reshape(shape) for name, x in answers.items()}
    return png(allocation_figure(tables, title=title))


def tell_answer(place: ui.column, made: PrivateAnswer, saturation: float, *more: str) -> None:
    """What is certain of an answer, how silent its release is, and what is promised to whom."""
    told = [
        saturation_words(saturation, "cover all that is public"),
        guarantee_words(made.release),
        *more,
    ]
    proof = made.solution.certificate
    if proof is not None:
        told.insert(
            0,
            "Every inequality holds for everything the release allows, hence for the true "
            f"data, with certainty (least slack {proof.worst_slack:.3g}, exact arithmetic).",
        )
    place.clear()
    with place:
        for text in told:
            ui.label(text).classes(SMALL)


def data_address(picture: bytes) -> str:
    """A PNG as an address that holds it."""
    if not picture:
        raise InvalidArgumentError("picture must not be empty")
    return "data:image/png;base64," + base64.b64encode(picture).decode()
