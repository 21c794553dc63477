"""Docstrings that are not quite reStructuredText, read as they are meant.

|x| is an absolute value, not a substitution; the docstrings of environments are Markdown with
headings, as Gymnasium's own are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", mend, priority=400)  # before Napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mend(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if any(line.startswith("## ") for line in lines):
        lines[:] = from_markdown(lines)
    example = False
    for number, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            lines[number] = with_bars(line)


def with_bars(line: str) -> str:
    """Bars outside literals stand for themselves."""
    parts = re.split(r"(``.*?``)", line)
    return "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in parts)


def from_markdown(lines: list[str]) -> list[str]:
    """Headings, code and lists in reStructuredText."""
    changed: list[str] = []
    for line in lines:
        if line.startswith("## "):
            changed += ["", f".. rubric:: {line[3:]}", ""]
        else:
            if line.startswith("* ") and changed and not changed[-1].startswith(("* ", "  ")):
                changed.append("")
            changed.append(re.sub(r"`([^`]+)`", r"``\1``", line))
    return changed
