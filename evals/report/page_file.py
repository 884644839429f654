"""Writing a page piece by piece: a large one is never whole in memory."""

import os
from collections.abc import Iterable
from pathlib import Path

from evals.errors import RunError

_OWNER_ONLY = 0o600
"""A page quotes what people said."""


def write_page(path: Path, pieces: Iterable[str]) -> None:
    """Write a whole page; a reader sees the old one or the new one.

    Args:
        path: in a folder that is there.
        pieces: the page's text, in order; what they raise leaves the old page as it was.

    Raises:
        RunError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        beside.unlink(missing_ok=True)  # left by a killed writer
        try:
            with os.fdopen(os.open(beside, flags, _OWNER_ONLY), "w", encoding="utf-8") as file:
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise RunError(
            str(path),
            str(error),
            "a place that can be written",
            "Free space or mend its permissions, or choose another --reports-dir.",
        ) from error
