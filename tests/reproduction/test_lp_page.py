"""The page on files of linear programs runs as it stands, block after block in one folder."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "lp-files.md").read_text()


def test_the_commands_and_the_snippet_of_the_page_run(tmp_path):
    blocks = re.findall(r"```(sh|python)\n(.*?)```", PAGE, re.S)
    assert [language for language, _ in blocks] == ["sh", "python"]
    said = ""
    for language, code in blocks:
        own = f'set -e; dp-cmdp() {{ "{sys.executable}" -m dp_cmdp "$@"; }}\n'
        command = ["bash", "-c", own + code] if language == "sh" else [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said += done.stdout
    assert "ready" in said
    assert "all that can be proved holds" in said
    assert "FeasibilityCertificate(verified=True" in said
