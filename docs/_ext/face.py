"""Names of a face: listed by the directive ``functions-of``, found by their module path.

Docstrings say ``:func:`dp_cmdp._src.verbs.spend.solve```; the reference documents
``dp_cmdp.solve``. A module, or what is not part of the reference, is shown as plain text.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("functions-of", FunctionsOf)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class FunctionsOf(SphinxDirective):
    """Every function of the face of a package, in its order."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        package = self.arguments[0]
        listed = "\n".join(f".. autofunction:: {name}" for name in import_module(package).__all__)
        text = f"```{{eval-rst}}\n.. currentmodule:: {package}\n\n{listed}\n```"
        return self.parse_text_to_nodes(text)


def resolve(
    app: Sphinx, env: BuildEnvironment, node: nodes.Element, content: nodes.Element
) -> nodes.Node | None:
    """The documented twin of a target, or its text where the target exists and has no page."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or not target:
        return None
    found = _exists(target, node.get("py:module"), node.get("py:class"))
    if found is None:
        return None
    for name, entry in env.domains.python_domain.objects.items():
        if _resolved(name) is found and not entry.aliased:
            return make_refnode(
                app.builder, node["refdoc"], entry.docname, entry.node_id, content, name
            )
    return content


def _exists(target: str, module: str | None, owner: str | None) -> object | None:
    """What a docstring of a module, or of a class of it, means by a name."""
    named = [target, f"{module}.{target}" if module else target, f"dp_cmdp.{target}"]
    if module and owner:
        named.append(f"{module}.{owner}.{target}")
        home = getattr(_resolved(f"{module}.{owner}"), "__module__", None)
        named += [f"{home}.{target}"] if home else []
    for name in named:
        found = _resolved(name) if name.startswith("dp_cmdp.") else None
        if found is not None:
            return found
    return None


def _resolved(name: str) -> object | None:
    """The object of a dotted name, an annotation where a class only declares it, or None."""
    try:
        return resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        above, _, last = name.rpartition(".")
        declared = getattr(_resolved(above), "__annotations__", {}) if "." in above else {}
        return declared.get(last)
