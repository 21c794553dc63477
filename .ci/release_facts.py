"""What a release says of itself, compared: version, changelog, citation, classifiers, addresses.

Functions of texts; each returns its findings as sentences, none when all is well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

PYTHON = "Programming Language :: Python :: "


def version_faults(versions: Mapping[str, str | None]) -> list[str]:
    """Every place (the keys) must say the same version."""
    first, wanted = next(iter(versions.items()))
    return [
        f"{place} says version {said}, {first} says {wanted}"
        for place, said in versions.items()
        if said is None or said != wanted
    ]


def stated_version(text: str) -> str | None:
    """``version: X`` of CITATION.cff, ``__version__ = "X"`` of a module."""
    found = re.search(r"""^(?:version:|__version__ =)\s*["']?([^"'\s]+)""", text, re.M)
    return found[1] if found else None


def newest_entry(changelog: str) -> tuple[str | None, str | None]:
    """Version and date (or "unreleased") of the first heading."""
    found = re.search(r"^## (\S+) \(([^)]+)\)$", changelog, re.M)
    return (found[1], found[2]) if found else (None, None)


def date_faults(changelog: str, citation: str) -> list[str]:
    """The citation has the changelog's date, and none before the release."""
    _, date = newest_entry(changelog)
    if date is None:
        return ["CHANGELOG.md must begin with '## VERSION (DATE)' or '## VERSION (unreleased)'"]
    if date != "unreleased" and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        return [f"CHANGELOG.md must date its first entry as 2026-01-31, not {date}"]
    found = re.search(r"^date-released:\s*[\"']?([\d-]+)", citation, re.M)
    cited = found[1] if found else "unreleased"
    return [] if cited == date else [f"CITATION.cff is {cited}, CHANGELOG.md is {date}"]


def python_faults(project: Mapping[str, Any], tried: Iterable[str]) -> list[str]:
    """Classifiers name the Pythons that were tried (as "3.12"), and these only."""
    told = {
        each.removeprefix(PYTHON)
        for each in project["classifiers"]
        if re.fullmatch(rf"{PYTHON}3\.\d+", each)
    }
    tried = set(tried)
    faults = [f"classifiers name Python {each}, which was not tried" for each in told - tried]
    faults += [f"Python {each} was tried and has no classifier" for each in tried - told]
    lowest = min(told, key=minor, default="")
    if project["requires-python"] != f">={lowest}":
        faults.append(f"requires-python must be >={lowest}, the lowest of the classifiers")
    return sorted(faults)


def minor(version: str) -> int:
    """12, of "3.12" or "3.12.1"."""
    return int(version.split(".")[1])


def address_faults(project: Mapping[str, Any], citation: str) -> list[str]:
    """The repository of the metadata is the one that is cited."""
    found = re.search(r"^repository-code:\s*[\"']?([^\s\"']+)", citation, re.M)
    cited, told = (found[1] if found else None), project.get("urls", {}).get("Repository")
    if cited == told:
        return []
    return [f"CITATION.cff has the repository {cited}, pyproject.toml has {told}"]


def faults(project: Mapping[str, Any], *, module: str, changelog: str, citation: str) -> list[str]:
    """All that does not depend on which Pythons are here."""
    versions = {
        "pyproject.toml": project["version"],
        "dp_cmdp/_version.py": stated_version(module),
        "CITATION.cff": stated_version(citation),
        "CHANGELOG.md": newest_entry(changelog)[0],
    }
    return [
        *version_faults(versions),
        *date_faults(changelog, citation),
        *address_faults(project, citation),
    ]
