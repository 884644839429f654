"""Files that are written whole or not at all."""

import os
from collections.abc import Iterable
from pathlib import Path

OWNER_ONLY = 0o600
"""What nearly all of this project's files are: they quote what people said."""
_FOLDER_MODE = 0o700


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for the user alone; one there stays.

    Raises:
        OSError: it cannot be made, or is a file.
    """
    # Not mkdir(parents=True): it makes the ones above as the umask says.
    for missing in reversed([each for each in folder.parents if not each.exists()]):
        missing.mkdir(mode=_FOLDER_MODE, exist_ok=True)
    folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)


def write_whole(path: Path, pieces: Iterable[str], mode: int = OWNER_ONLY) -> None:
    """Write a file, piece by piece; a reader sees the old one or the new one.

    Args:
        path: in a folder that is there.
        pieces: the text, in order, so that a large one is never whole in memory. What they raise
            leaves the old file as it was.
        mode: of the new file, less the umask.

    Raises:
        OSError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    beside.unlink(missing_ok=True)  # left by a killed writer
    try:
        with os.fdopen(os.open(beside, flags, mode), "w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
