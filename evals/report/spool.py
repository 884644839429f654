"""Lines that are made before their place in a file comes, kept outside of memory until then."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Self

_IN_MEMORY_BYTES = 4 * 2**20
"""A page of a few hundred items never touches the disk."""


class Spool:
    """Lines in the order in which they came; its file has no name, and is gone at the end."""

    def __init__(self, folder: Path | None) -> None:
        """Start without any.

        Args:
            folder: where there is room for them; None: where the system keeps such files.
        """
        self._file = SpooledTemporaryFile(  # noqa: SIM115  closed by ``__exit__``
            _IN_MEMORY_BYTES,
            "w+",
            encoding="utf-8",
            newline="\n",
            dir=None if folder is None else str(folder),
        )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Drop every line."""
        self._file.close()

    def add(self, line: str) -> None:
        r"""Take a line, without its ``\n``.

        Raises:
            OSError: there is no room for it.
        """
        self._file.write(line + "\n")

    def lines(self) -> Iterator[str]:
        r"""Yield every line, without its ``\n``; none can be added after that."""
        self._file.seek(0)
        for line in self._file:
            yield line.removesuffix("\n")
