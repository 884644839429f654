"""Requests out: a round of judging to be answered elsewhere, in the Message Batches' form.

A folder of ``requests.jsonl``, a line each ``{"custom_id": <request hash>, "params": {…}}`` as the
Batches API takes it; ``manifest.jsonl``, a line each ``{"custom_id", "purpose", "repeat"}``; and on
demand ``text/<custom_id>.txt``. ``evals.judging.imports`` takes the answers back.
"""

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from evals.errors import ExchangeError
from evals.judging.request import JudgeRequest, request_hash_of
from evals.untrusted import for_terminal

REQUESTS = "requests.jsonl"
MANIFEST = "manifest.jsonl"
TEXT_FOLDER = "text"
ANSWER_LINE = "Answer with the JSON object alone."
_SHOWN = 20
_TEXT_NAME = re.compile(r"[0-9a-f]{64}\.txt")

LineT = TypeVar("LineT", bound=BaseModel)


@dataclass(frozen=True)
class ExportReport:
    """What was written."""

    folder: Path
    requests: int
    by_purpose: dict[str, int]


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


def export_requests(
    requests: Iterable[JudgeRequest], folder: Path, *, as_text: bool
) -> ExportReport:
    """Write requests, each hash once, in the order given; an earlier export there is replaced.

    Args:
        requests: what is to be answered.
        folder: made 0700 where it is not there; the files are 0600, for they hold conversations.
        as_text: also one plain file a request: system text, user text, ``ANSWER_LINE``.

    Raises:
        ExchangeError: the folder cannot be written.
    """
    unique = {request.request_hash: request for request in requests}
    by_purpose: dict[str, int] = {}
    for request in unique.values():
        by_purpose[request.purpose] = by_purpose.setdefault(request.purpose, 0) + 1
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_texts(unique if as_text else {}, folder / TEXT_FOLDER)
        bodies = ({"custom_id": key, "params": each.params} for key, each in unique.items())
        write_atomically(folder / REQUESTS, json_lines(bodies))
        write_atomically(folder / MANIFEST, json_lines(_manifest(unique)))
    except OSError as error:
        raise ExchangeError(
            str(folder), str(error), "a writable folder", "Choose another folder."
        ) from error
    return ExportReport(folder, len(unique), by_purpose)


def read_requests(folder: Path) -> dict[str, ExportedRequest]:
    """Read an export back, by custom_id, and compute every hash anew.

    Raises:
        ExchangeError: a file is missing or unreadable, the two files differ in ids, or a request
            was altered after the export.
    """
    bodies = _by_id(folder / REQUESTS, _RequestLine)
    notes = _by_id(folder / MANIFEST, _ManifestLine)
    refuse(
        str(folder),
        [f"{each} in only one of {REQUESTS} and {MANIFEST}" for each in bodies.keys() ^ notes],
        "the same ids in both files",
        "Export again.",
    )
    refuse(
        str(folder / REQUESTS),
        [
            f"{key}, whose body has another hash"
            for key, line in bodies.items()
            if request_hash_of(line.params, notes[key].repeat) != key
        ],
        "requests as they were exported",
        "Export again and answer that: an answer to an altered request is no answer.",
    )
    # The hash is right, so the body is one that this project made, and has a model.
    return {
        key: ExportedRequest(key, notes[key].purpose, str(line.params["model"]))
        for key, line in bodies.items()
    }


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
        raise ExchangeError(str(path), str(error), "a readable file", "Check the path.") from error
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


def _write_texts(requests: dict[str, JudgeRequest], folder: Path) -> None:
    if folder.is_dir():
        # What an earlier round asked would be answered again, and refused at import.
        for path in folder.iterdir():
            if _TEXT_NAME.fullmatch(path.name) and path.stem not in requests:
                path.unlink()
    for key, request in requests.items():
        folder.mkdir(mode=0o700, exist_ok=True)
        text = f"{request.prompt.system}\n\n{request.user}\n\n{ANSWER_LINE}\n"
        write_atomically(folder / f"{key}.txt", text.encode())


def _manifest(requests: dict[str, JudgeRequest]) -> Iterator[dict[str, Any]]:
    for key, request in requests.items():
        yield {
            "custom_id": key,
            "purpose": request.purpose,
            "repeat": request.settings.repeat,
        }


def _by_id(path: Path, shape: type[LineT]) -> dict[str, LineT]:
    found: dict[str, LineT] = {}
    doubled: list[str] = []
    for _, line in read_lines(path, shape):
        custom_id = str(getattr(line, "custom_id"))  # noqa: B009  both shapes have it
        if custom_id in found:
            doubled.append(f"{custom_id} twice")
        found[custom_id] = line
    refuse(str(path), doubled, "each id once", "Export again.")
    return found
