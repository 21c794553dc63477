"""One-line faults: what is changed, which promise that breaks, which tests should notice."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Fault:
    """A line of the package and the wrong line that takes its place.

    Attributes
    ----------
    name : str
        Unique; file name of its record.
    promise : str
        What no longer holds with the fault in place.
    line : str
        The line as it stands, without its indentation; it stands exactly once in its file, or in
        the function `within`.
    faulty : str
        What takes its place, under the same indentation.
    equivalent : str
        Why the fault changes nothing that anyone could see; empty for one that must be caught.
    within : str
        How the function or class begins that holds the line, where the line alone is not unique.
    path : str
        File of the line, from the root of the repository.
    tests : tuple of str
        Test files, or single tests, that should notice: they run first.
    """

    name: str
    promise: str
    line: str
    faulty: str
    equivalent: str = ""
    within: str = ""
    path: str = ""
    tests: tuple[str, ...] = ()

    def places(self, text: str) -> list[int]:
        """Numbers, from 0, of the lines of a file that read as :attr:`line` does."""
        inside, depth, found = not self.within, 0, []
        for number, line in enumerate(text.splitlines()):
            indentation = len(line) - len(line.lstrip())
            if self.within and line.lstrip().startswith(self.within):
                inside, depth = True, indentation
            elif (
                self.within
                and indentation <= depth
                and line.lstrip().startswith(("def ", "class "))
            ):
                inside = False
            if inside and line.strip() == self.line:
                found.append(number)
        return found

    def put_into(self, text: str) -> str:
        """The file with the fault in it."""
        (place,) = self.places(text)
        lines = text.splitlines(keepends=True)
        lines[place] = lines[place].replace(self.line, self.faulty)
        return "".join(lines)


def in_file(path: str, tests: tuple[str, ...], *faults: Fault) -> tuple[Fault, ...]:
    """Faults of one file; those that name tests of their own keep them."""
    return tuple(replace(fault, path=path, tests=fault.tests or tests) for fault in faults)
