"""README and docs are true: their code runs and prints what they show, their links lead somewhere.

`make test-docs` runs the code from an installed wheel (see tests/docs/pages.py).
"""

import argparse
import re
from collections import Counter
from functools import cache

import pytest

import dp_cmdp as dp
from dp_cmdp._src.cli.main import build_parser
from tests.docs import pages

WITH_CODE = [page for page in pages.pages() if any(block.runs for block in pages.blocks(page))]
#: Blocks that are shown only, by their reason.
NOT_RUN = {
    "needs a cluster": 2,
    "needs masa-safe-rl": 1,
    "needs the repository": 3,
    "needs torch (make test-rl runs it)": 1,
    "sets up an environment": 3,
    "starts a server": 2,
    "takes minutes": 1,
}


@pytest.mark.parametrize("page", WITH_CODE)
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(page, tmp_path):
    for block, printed in pages.run(page, tmp_path):
        assert block.said(printed), f"{block.code}\nprinted\n{printed}\nnot\n{block.output}"


def test_no_block_is_left_out_in_silence():
    found = [block for page in pages.pages() for block in pages.blocks(page)]
    assert Counter(block.reason for block in found if block.reason) == NOT_RUN
    said = {re.sub(r"^\{([\w-]+)\}.*", r"\1", block.language) for block in found}
    assert said <= pages.LANGUAGES | pages.DIRECTIVES


def test_blocks_of_text_hold_no_commands():
    told = [(page, block) for page in pages.pages() for block in pages.blocks(page)]
    hidden = [
        page
        for page, block in told
        if block.language == "text" and re.search(r"^(\$ |dp-cmdp |make |pip )", block.code, re.M)
    ]
    assert not hidden


def test_what_a_page_shows_is_compared():
    block = pages.Block("python", "", reason=None, output="x = 1.5 ...\n", vary=False)
    assert block.said("x = 1.5 and more\n")
    assert not block.said("x = 1.6 and more\n")
    vague = pages.Block("python", "", reason=None, output="x = 1.5\n", vary=True)
    assert vague.said("x = -2e-7\n")
    assert not vague.said("y = 1.5\n")


@cache
def options(command: str) -> str:
    """The help of a command, with those of the commands within it."""
    parser = commands(build_parser())[command]
    return "".join(part.format_help() for part in (parser, *commands(parser).values()))


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = (part for part in parser._actions if isinstance(part, argparse._SubParsersAction))
    return {name: part for action in found for name, part in action.choices.items()}


@pytest.mark.parametrize("page", pages.pages())
def test_every_command_that_a_page_names_exists_with_its_options(page):
    text = (pages.ROOT / page).read_text()
    for command, rest in re.findall(r"\bdp-cmdp ([a-z]+)((?:\\\n|[^`\n#|])*)", text):
        known = options(command)
        assert set(re.findall(r"(?<= )--[a-z]+", rest)) <= {"--help", *re.findall(r"--\w+", known)}


@cache
def anchors(page: str) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub and MyST make them."""
    text = re.sub(r"^```.*?^```$", "", (pages.ROOT / page).read_text(), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return frozenset(
        re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles
    )


@pytest.mark.parametrize("page", [*pages.pages(), "SECURITY.md", "CHANGELOG.md"])
def test_links_lead_to_files_and_headings_that_exist(page):
    text = re.sub(r"^```.*?^```$", "", (pages.ROOT / page).read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = ((pages.ROOT / page).parent / path).resolve() if path else pages.ROOT / page
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(str(file.relative_to(pages.ROOT))), target


def test_every_public_name_is_in_the_reference():
    reference = "".join(file.read_text() for file in (pages.ROOT / "docs/reference").glob("*.md"))
    listed = set(re.findall(r"^\.\. (?:auto\w+|py:data):: (?:\w+\.)*(\w+)", reference, re.M))
    assert set(dp.__all__) <= listed
    for name in ("audit", "curator", "cvxpy", "envs", "extend", "gymnasium", "lpfile"):
        assert set(getattr(dp, name).__all__) <= listed, name
