"""Pages that live in the root of the repository, and links to them.

``docs/contributing.md`` is two lines for readers of the repository; here it is ``CONTRIBUTING.md``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: A list of pages that knows its pages by links; in the site it has them below it too.
LISTS = {"decisions/README": "\n```{toctree}\n:hidden:\n:glob:\n\n0*\ninventory\n```\n"}
#: Page → file in the root.
PAGES = {"changelog": "CHANGELOG.md", "contributing": "CONTRIBUTING.md", "security": "SECURITY.md"}


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """The file in place of its page, and pages in place of links to files."""
    text, above = source[0], "../" * (name.count("/") + 1)
    if name in PAGES:
        file = Path(app.srcdir).parent / PAGES[name]
        app.env.note_dependency(str(file))
        text, above = file.read_text().replace("](docs/", "]("), ""
    for page, target in PAGES.items():
        text = text.replace(f"]({above}{target}", f"]({above[3:]}{page}.md")
    source[0] = text + LISTS.get(name, "")
