"""Tutorials as notebooks: executed when the site is built, with their output and a download.

In the repository a tutorial is plain Markdown, with what each block prints below it: readable as
it stands, compared by the tests (``tests/docs/pages.py``), and a notebook to Jupytext. For the site
its blocks of Python become cells of MyST-NB, and what they print, pictures too, is made anew.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: Pages that are notebooks.
FOLDER = "tutorials/"
HEADER = """---
file_format: mystnb
kernelspec:
  name: python3
---
"""
CELL = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n?(?:<!-- numbers vary -->\n\n?)?```text\n.*?^```\n)?",
    re.M | re.S,
)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """A tutorial as a notebook of MyST-NB; other pages as they are."""
    if name.startswith(FOLDER):
        title, _, rest = source[0].partition("\n")
        notebook = (
            f"\n{{nb-download}}`{name.removeprefix(FOLDER)}.ipynb` (this page as a notebook)\n"
        )
        cells = CELL.sub(lambda found: f"```{{code-cell}} python\n{found['code']}```\n", rest)
        source[0] = "\n".join([HEADER + title, notebook, cells])
