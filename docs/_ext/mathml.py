"""Formulas as MathML, translated by docutils: drawn by the browser, with nothing to load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.utils.math import latex2mathml, wrap_math_code

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(latex2mathml.tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    formula = wrap_math_code(node.astext(), as_block=True)
    translator.body.append(latex2mathml.tex2mathml(formula, as_block=True))
    raise nodes.SkipNode
