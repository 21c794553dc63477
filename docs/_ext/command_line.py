"""The directive ``command-line``: a section per command, read off the parsers themselves."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from dp_cmdp._src.cli.main import build_parser

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: Columns of usage lines and of wrapped texts, whatever the terminal of the build is.
WIDTH = "88"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class CommandLine(SphinxDirective):
    """Every command of ``dp-cmdp`` with its description, usage, options and examples."""

    def run(self) -> list[nodes.Node]:
        os.environ["COLUMNS"] = WIDTH
        return [self.section(parser) for parser in subcommands(build_parser())]

    def section(self, parser: argparse.ArgumentParser) -> nodes.section:
        section = nodes.section(ids=[nodes.make_id(parser.prog)])
        section += nodes.title(text=parser.prog)
        if parser.description:
            section += nodes.paragraph(text=parser.description)
        usage = parser.format_usage().removeprefix("usage: ").strip()
        section += literal(re.sub(r"\n {10,}", "\n    ", usage))
        listed = [action for action in parser._actions if action.help is not argparse.SUPPRESS]
        if options := [item for action in listed for item in self.item(parser, action)]:
            section += nodes.definition_list("", *options)
        section += [self.section(part) for part in subcommands(parser)]
        if parser.epilog:
            section += literal(parser.epilog)
        self.state.document.note_explicit_target(section)
        return section

    def item(self, parser: argparse.ArgumentParser, action: Any) -> Iterator[nodes.Node]:
        """One option with its help; a command within a command has a section of its own."""
        if isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
            return
        said = parser._get_formatter()._format_action_invocation(action)
        text = parser._get_formatter()._expand_help(action) if action.help else ""
        if action.default not in (None, False, argparse.SUPPRESS) and "default" not in text:
            text = f"{text} (default: {action.default})".strip()
        yield nodes.definition_list_item(
            "",
            nodes.term("", "", nodes.literal(text=said)),
            nodes.definition("", nodes.paragraph(text=text)),
        )


def subcommands(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """The parsers of a parser's commands, in order; an alias is not another command."""
    found = [
        part
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for part in action.choices.values()
    ]
    return list(dict.fromkeys(found))


def literal(text: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language="text")
