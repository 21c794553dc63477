"""Compiles the solver's kernels, for wheels and editable installs, where there is a compiler."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCRIPT = Path("dp_cmdp/_src/cmdp/solvers/kernels/build.py")


class KernelsHook(BuildHookInterface):
    """``py3-none-<platform>`` with the library, ``py3-none-any`` without."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        spec = importlib.util.spec_from_file_location("kernels_build", Path(self.root) / SCRIPT)
        assert spec is not None
        assert spec.loader is not None
        script = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(script)
        made = script.build()
        if made is not None and version == "standard":
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"py3-none-{platform}"
            build_data["pure_python"] = False
            build_data["force_include"][str(stripped(made))] = str(SCRIPT.parent / made.name)


def stripped(library: Path) -> Path:
    """The library without the symbols that only debuggers read, where there is a tool for it."""
    if tool := shutil.which("strip"):
        subprocess.run([tool, "--strip-unneeded", library], check=True)
    return library
