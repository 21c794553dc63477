"""README and docs are true: their code runs and prints what they show, their links lead somewhere.

`make test-docs` runs the code from an installed wheel (see tests/pages.py).
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from dp_cmdp.cli.main import build_parser
from tests import pages

ROOT = Path(__file__).parents[2]
WITH_CODE = [page for page in pages.pages() if any(block.runs for block in pages.blocks(page))]
#: Blocks that are shown only, by their reason.
NOT_RUN = {
    "sets up an environment": 1,
}


@pytest.mark.parametrize("page", WITH_CODE)
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(page, tmp_path):
    for block, printed in pages.run(page, tmp_path):
        assert block.said(printed), f"{block.code}\nprinted\n{printed}\nnot\n{block.output}"


def test_no_block_is_left_out_in_silence():
    found = [block for page in pages.pages() for block in pages.blocks(page)]
    assert Counter(block.reason for block in found if block.reason) == NOT_RUN
    assert {block.language for block in found} <= pages.LANGUAGES | {"{eval-rst}"}
