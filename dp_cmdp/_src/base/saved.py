"""What has a content in files, and what has a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from dp_cmdp._src.base.validation import validated


class Documented:
    """What can be stated in a file, and is checked again when it is read."""

    __slots__ = ()

    def document(self) -> dict[str, Any]:
        """The content of a file.

        Returns
        -------
        dict
            Texts, numbers and arrays, without objects of this package.
        """
        raise NotImplementedError

    @classmethod
    def from_document(cls, said: Mapping[str, Any]) -> Self:
        """What :meth:`document` wrote, checked again: nothing that it claims is believed.

        Parameters
        ----------
        said : mapping
            What `document` returned, read from a file.

        Returns
        -------
        object
            The same as was written.

        Raises
        ------
        InvalidArgumentError
            If its parts do not fit each other.
        """
        raise NotImplementedError


class Saved(Documented):
    """What has a file of its own."""

    __slots__ = ()
    #: What its files hold, in one word.
    _file: ClassVar[str]

    @validated
    def save(self, path: str | Path) -> Path:
        """Write an ``.npz`` file, atomically and without pickle.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Path
            The file that was written.
        """
        from dp_cmdp._src.base.documents import write_document

        return write_document(path, self._file, self.document())

    @classmethod
    @validated
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote; everything in it is checked again.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        object
            What the file holds.

        Raises
        ------
        InvalidArgumentError
            If the file is damaged, edited or of another kind.
        """
        from dp_cmdp._src.base.documents import loaded

        return loaded(path, cls._file, cls.from_document)
