"""Formulas as MathML, translated by docutils: drawn by the browser, with nothing to load."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.utils.math import latex2mathml

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


#: An accented letter with an index: docutils would set the index straight below the letter.
ACCENTED = re.compile(r"(\\(?:tilde|hat|bar) ?(?:\\[a-z]+|[A-Za-z]))(?=_)")


def inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def mathml(formula: str, *, as_block: bool) -> str:
    return latex2mathml.tex2mathml(ACCENTED.sub(r"{\1{}}", formula), as_block=as_block)
