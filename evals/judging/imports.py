"""Answers in: those made elsewhere to exported requests, into the store or a recordings file.

Nothing is written unless everything fits: an answer to a request that was not exported, of another
model than asked, or different from what stands already, refuses the whole import by name.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, Field

from evals.errors import ExchangeError
from evals.judging.exchange import (
    ExportedRequest,
    json_lines,
    read_lines,
    read_requests,
    refuse,
    write_atomically,
)
from evals.judging.message import NotAMessageError, is_pinned_model, parse_message
from evals.judging.recordings import RecordedLine
from evals.judging.store import AnswerStore, StoredAnswer, same_message


@dataclass(frozen=True)
class BatchResults:
    """A Message Batches result file."""

    path: Path


@dataclass(frozen=True)
class AnswerFiles:
    """A folder of raw answers, ``<custom_id>.<anything>``, UTF-8."""

    folder: Path
    served_model: str
    """Who answered: files do not say."""


@dataclass(frozen=True)
class ImportReport:
    """What an import came to. Ids are sorted."""

    requested: int
    """Requests of the export."""
    written: int
    """Answers that are new in the target, or replaced there."""
    already_there: int
    """Answers that the target had already, the same."""
    doubled: tuple[str, ...]
    """Answered twice, with the same answer."""
    missing: tuple[str, ...]
    """Requests without any result."""
    failed: dict[str, int]
    """Results without an answer by type: ``errored``, ``expired``, ``canceled``. Never stored."""
    failed_ids: tuple[str, ...]
    """Requests that have only such results."""


class _Succeeded(BaseModel):
    type: Literal["succeeded"]
    message: dict[str, Any]


class _Failed(BaseModel):
    type: Literal["errored", "expired", "canceled"]


class _ResultLine(BaseModel):
    custom_id: str
    result: Annotated[_Succeeded | _Failed, Field(discriminator="type")]


@dataclass
class _Answers:
    where: str
    messages: dict[str, str] = field(default_factory=dict)
    """custom_id -> Message as JSON text."""
    doubled: set[str] = field(default_factory=set)
    failed: list[tuple[str, str]] = field(default_factory=list)
    """(custom_id, type)."""
    problems: list[str] = field(default_factory=list)

    def add(self, custom_id: str, message: str) -> None:
        if custom_id not in self.messages:
            self.messages[custom_id] = message
        elif same_message(self.messages[custom_id], message):
            self.doubled.add(custom_id)
        else:
            self.problems.append(f"{custom_id} answered twice, differently")


def import_answers(
    requests_dir: Path,
    answers: BatchResults | AnswerFiles,
    into: Path,
    *,
    replace: bool = False,
) -> ImportReport:
    """Take in the answers to an export.

    Args:
        requests_dir: the export.
        answers: a Batches result file, whose messages are kept as they are, or raw answer files,
            whose text becomes a Message with stop reason and usage null, for nobody noted them.
        into: a recordings file where it ends in ``.jsonl``, else an answer store.
        replace: overwrite a different answer that stands in ``into``.

    Raises:
        ExchangeError: something does not fit; nothing was written.
        StoreError: the target cannot be read or written.
    """
    requests = read_requests(requests_dir)
    found = _read_results(answers) if isinstance(answers, BatchResults) else _read_files(answers)
    stored = _matched(requests, found)
    target = _RecordingsFile(into) if into.suffix == ".jsonl" else _Store(into)
    try:
        standing = {each.request_hash: target.message_of(each.request_hash) for each in stored}
        different = [
            each.request_hash
            for each in stored
            if (old := standing[each.request_hash]) is not None
            and not same_message(old, each.message)
        ]
        if not replace:
            refuse(
                str(into),
                [f"another answer to {key}" for key in different],
                "no answer yet, or the same one",
                "Use --replace to overwrite, or import into another file.",
            )
        changed = set(different)
        new = [
            each
            for each in stored
            if standing[each.request_hash] is None or each.request_hash in changed
        ]
        target.write(new, replace=replace)
    finally:
        target.close()
    failed_ids = {custom_id for custom_id, _ in found.failed} - found.messages.keys()
    return ImportReport(
        requested=len(requests),
        written=len(new),
        already_there=len(stored) - len(new),
        doubled=tuple(sorted(found.doubled)),
        missing=tuple(sorted(requests.keys() - found.messages.keys() - failed_ids)),
        failed=dict(Counter(kind for _, kind in found.failed)),
        failed_ids=tuple(sorted(failed_ids)),
    )


def _read_results(source: BatchResults) -> _Answers:
    found = _Answers(str(source.path))
    for _, line in read_lines(source.path, _ResultLine):
        if isinstance(line.result, _Succeeded):
            found.add(line.custom_id, json.dumps(line.result.message, ensure_ascii=False))
        else:
            found.failed.append((line.custom_id, line.result.type))
    return found


def _read_files(source: AnswerFiles) -> _Answers:
    found = _Answers(str(source.folder))
    try:
        for path in sorted(source.folder.iterdir()):
            if not path.name.startswith("."):
                _read_file(path, source.served_model, found)
    except OSError as error:
        raise ExchangeError(
            str(source.folder), str(error), "a readable folder of answers", "Check the path."
        ) from error
    return found


def _read_file(path: Path, served_model: str, found: _Answers) -> None:
    custom_id = path.name.partition(".")[0]
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        found.problems.append(f"{path.name}, not UTF-8 at byte {error.start}")
        return
    if not text.strip():
        found.problems.append(f"{path.name}, empty: delete it, and it counts as missing")
        return
    message = {
        "id": None,
        "type": "message",
        "role": "assistant",
        "model": served_model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": None,
    }
    found.add(custom_id, json.dumps(message, ensure_ascii=False))


def _matched(requests: dict[str, ExportedRequest], found: _Answers) -> list[StoredAnswer]:
    problems = [*found.problems]
    strangers = {*found.messages, *(custom_id for custom_id, _ in found.failed)} - requests.keys()
    problems += [f"{key}, which is no exported request" for key in strangers]
    stored = []
    for key, text in found.messages.items():
        if key in strangers:
            continue
        try:
            served = parse_message(text).model
        except NotAMessageError as error:
            problems.append(f"{key}, whose message is none ({error})")
            continue
        if not is_pinned_model(requests[key].model, served):
            problems.append(f"{key}, answered by {served!r} and not by {requests[key].model!r}")
        stored.append(StoredAnswer(key, text, requests[key].model, served, None))
    refuse(
        found.where,
        problems,
        "one answer of the model asked to each exported request",
        "Nothing was imported. Mend or remove what is named.",
    )
    return stored


class _Target(Protocol):
    def message_of(self, request_hash: str) -> str | None: ...

    def write(self, answers: list[StoredAnswer], *, replace: bool) -> None: ...

    def close(self) -> None: ...


class _Store(_Target):
    def __init__(self, path: Path) -> None:
        self._store = AnswerStore(path)

    def message_of(self, request_hash: str) -> str | None:
        stored = self._store.get(request_hash)
        return None if stored is None else stored.message

    def write(self, answers: list[StoredAnswer], *, replace: bool) -> None:
        self._store.put_all(answers, replace=replace)

    def close(self) -> None:
        self._store.close()


class _RecordingsFile(_Target):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._messages: dict[str, dict[str, Any]] = {}
        if path.exists():
            for number, line in read_lines(path, RecordedLine):
                if line.custom_id in self._messages:
                    refuse(f"{path}:{number}", [f"{line.custom_id} twice"], "each id once", "")
                self._messages[line.custom_id] = line.result.message

    def message_of(self, request_hash: str) -> str | None:
        message = self._messages.get(request_hash)
        return None if message is None else json.dumps(message, ensure_ascii=False)

    def write(self, answers: list[StoredAnswer], *, replace: bool) -> None:
        del replace  # what is written here was read when this object was made
        if not answers:
            return
        self._messages |= {each.request_hash: json.loads(each.message) for each in answers}
        lines = (
            {"custom_id": key, "result": {"type": "succeeded", "message": self._messages[key]}}
            for key in sorted(self._messages)
        )
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(self._path, json_lines(lines, ascii_only=False))
        except OSError as error:
            raise ExchangeError(
                str(self._path), str(error), "a writable file", "Choose another --into."
            ) from error

    def close(self) -> None:
        pass
