"""The files of a round of judging that is answered elsewhere, in the Message Batches' form.

A folder of ``requests.jsonl``, a line each ``{"custom_id": <request hash>, "params": {…}}`` as the
Batches API takes it, or ``requests-001.jsonl``, … where they are more than one batch can hold;
``manifest.jsonl``, a line each ``{"custom_id", "purpose", "repeat"}``; and on demand
``text/<custom_id>.txt``. ``evals.judging.export`` writes it, ``evals.judging.imports`` takes the
answers back.
"""

import json
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from evals.errors import ExchangeError
from evals.judging.request import request_hash_of
from evals.untrusted import for_terminal

REQUESTS = "requests.jsonl"
MANIFEST = "manifest.jsonl"
TEXT_FOLDER = "text"
_SHOWN = 20
_REQUESTS_NAME = re.compile(r"requests(-\d{3,})?\.jsonl")

LineT = TypeVar("LineT", bound=BaseModel)


@dataclass(frozen=True)
class ExportedRequest:
    """One request as it was exported, its hash verified."""

    custom_id: str
    purpose: str
    model: str
    """The model asked for."""


class _RequestLine(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    custom_id: str
    params: dict[str, Any]


class _ManifestLine(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    custom_id: str
    purpose: str
    repeat: int


def name_of_requests(number: int, files: int) -> str:
    """Return the name of a file of requests: ``requests.jsonl``, or ``requests-001.jsonl``, ….

    Args:
        number: which, from 0.
        files: how many there are.
    """
    return REQUESTS if files == 1 else f"requests-{number + 1:03d}.jsonl"


def request_files(folder: Path) -> list[Path]:
    """Return the files of requests of an export, in their order.

    Raises:
        OSError: the folder cannot be read.
    """
    found = [path for path in folder.iterdir() if _REQUESTS_NAME.fullmatch(path.name)]
    return sorted(found, key=lambda path: (len(path.name), path.name))


def read_requests(folder: Path) -> dict[str, ExportedRequest]:
    """Read an export back, by custom_id, and compute every hash anew.

    Raises:
        ExchangeError: a file is missing or unreadable, the two files differ in ids, or a request
            was altered after the export.
    """
    try:
        files = request_files(folder)
    except OSError as error:
        raise _unreadable(folder, error) from error
    if not files:
        raise _unreadable(folder / REQUESTS, FileNotFoundError("no such file"))
    notes = {line.custom_id: line for line in _each_once(folder / MANIFEST, _ManifestLine)}
    found: dict[str, ExportedRequest] = {}
    altered: list[str] = []
    unknown: list[str] = []
    for path in files:
        # Line by line: all bodies at once would not fit into memory.
        for line in _each_once(path, _RequestLine, found):
            key, note = line.custom_id, notes.get(line.custom_id)
            if note is None:
                unknown.append(key)
            elif request_hash_of(line.params, note.repeat) != key:
                altered.append(f"{key}, whose body has another hash")
            # Where the hash is right this project made the body, and it has a model.
            model = str(line.params["model"]) if "model" in line.params else ""
            found[key] = ExportedRequest(key, "" if note is None else note.purpose, model)
    unknown += notes.keys() - found.keys()
    refuse(
        str(folder),
        [f"{each} in only one of {REQUESTS} and {MANIFEST}" for each in unknown],
        "the same ids in both files",
        "Export again.",
    )
    refuse(
        str(folder / REQUESTS),
        altered,
        "requests as they were exported",
        "Export again and answer that: an answer to an altered request is no answer.",
    )
    return found


def refuse(where: str, problems: list[str], wanted: str, todo: str) -> None:
    """Raise one error that names the first problems and counts the rest; nothing where none.

    Raises:
        ExchangeError: there is a problem.
    """
    if problems:
        rest = len(problems) - _SHOWN
        listed = "; ".join(for_terminal(each) for each in sorted(problems)[:_SHOWN])
        raise ExchangeError(
            where, listed + (f"; and {rest} more" if rest > 0 else ""), wanted, todo
        )


def read_lines(path: Path, shape: type[LineT]) -> Iterator[tuple[int, LineT]]:
    """Yield line number and content of a JSONL file, strictly; blank lines are let be.

    Raises:
        ExchangeError: the file cannot be read, or a line does not fit ``shape``.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, shape.model_validate_json(line)
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        loc = ".".join(str(part) for part in first["loc"]) or "the whole line"
        raise ExchangeError(
            f"{path}:{number}",
            f"{for_terminal(line[:80].decode('utf-8', 'replace'))!r} ({loc}: {first['msg']})",
            f"a JSON object with the keys {', '.join(shape.model_fields)}",
            "Mend or remove the line.",
        ) from None


def json_lines(values: Iterable[dict[str, Any]], *, ascii_only: bool = True) -> bytes:
    """Return JSONL."""
    return b"".join(json.dumps(each, ensure_ascii=ascii_only).encode() + b"\n" for each in values)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; a new one is 0600, an old one keeps its mode.

    Raises:
        OSError: it cannot be written.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            Path(name).chmod(path.stat().st_mode & 0o777)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _each_once(path: Path, shape: type[LineT], known: Collection[str] = ()) -> Iterator[LineT]:
    """Yield the lines of a file, and refuse it at its end where an id came twice.

    Args:
        path: JSONL.
        shape: of a line.
        known: ids that must not come at all; may grow meanwhile.

    Raises:
        ExchangeError: see ``read_lines``.
    """
    doubled: list[str] = []
    seen: set[str] = set()
    for _, line in read_lines(path, shape):
        custom_id = str(getattr(line, "custom_id"))  # noqa: B009  both shapes have it
        if custom_id in seen or custom_id in known:
            doubled.append(f"{custom_id} twice")
        else:
            seen.add(custom_id)
            yield line
    refuse(str(path), doubled, "each id once", "Export again.")


def _unreadable(path: Path, error: OSError) -> ExchangeError:
    return ExchangeError(str(path), str(error), "a readable file", "Check the path.")
