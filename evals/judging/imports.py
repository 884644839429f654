"""Answers in: those made elsewhere to exported requests, into the store or a recordings file.

Nothing is written unless everything fits: an answer to a request that was not exported, of another
model than asked, or different from what stands already, refuses the whole import by name. So the
answers are read twice, to look and to write, and never held: there can be a hundred thousand.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from evals.errors import ExchangeError
from evals.files import make_private
from evals.judging.answer_sources import AnswerSource, Given, NotGiven, Unusable
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


def import_answers(
    requests_dir: Path, source: AnswerSource, into: Path, *, replace: bool = False
) -> ImportReport:
    """Take in the answers to an export.

    Args:
        requests_dir: the export.
        source: Batches results, whose messages are kept as they are, or raw answer files, whose
            text becomes a Message with stop reason and usage null, for nobody noted them.
        into: a recordings file where it ends in ``.jsonl``, else an answer store.
        replace: overwrite a different answer that stands in ``into``.

    Raises:
        ExchangeError: something does not fit; nothing was written.
        StoreError: the target cannot be read or written.
    """
    requests = read_requests(requests_dir)
    target = _RecordingsFile(into) if into.suffix == ".jsonl" else _Store(into)
    try:
        found = _surveyed(source, requests, target)
        refuse(
            source.where,
            found.problems,
            "one answer of the model asked to each exported request",
            "Nothing was imported. Mend or remove what is named.",
        )
        if not replace:
            refuse(
                str(into),
                [f"another answer to {key}" for key in found.different],
                "no answer yet, or the same one",
                "Use --replace to overwrite, or import into another file.",
            )
        target.write(_read_again(source, requests, found), replace=replace)
    finally:
        target.close()
    failed_ids = found.failed_ids - found.first.keys()
    return ImportReport(
        requested=len(requests),
        written=len(found.to_write),
        already_there=len(found.first) - len(found.to_write),
        doubled=tuple(sorted(found.doubled)),
        missing=tuple(sorted(requests.keys() - found.first.keys() - failed_ids)),
        failed=dict(found.failed),
        failed_ids=tuple(sorted(failed_ids)),
    )


@dataclass
class _Survey:
    """What a first reading found."""

    first: dict[str, bytes] = field(default_factory=dict)
    """custom_id -> digest of its first answer."""
    doubled: set[str] = field(default_factory=set)
    failed: Counter[str] = field(default_factory=Counter)
    failed_ids: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    """Those that the target has another answer to."""
    to_write: set[str] = field(default_factory=set)


def _surveyed(
    source: AnswerSource, requests: Mapping[str, ExportedRequest], target: "_Target"
) -> _Survey:
    found = _Survey()
    strangers: set[str] = set()
    for item in source.items():
        if isinstance(item, Unusable):
            found.problems.append(item.what)
        elif item.custom_id not in requests:
            strangers.add(item.custom_id)
        elif isinstance(item, NotGiven):
            found.failed[item.kind] += 1
            found.failed_ids.add(item.custom_id)
        elif item.custom_id in found.first:
            if found.first[item.custom_id] == _digest(item.message):
                found.doubled.add(item.custom_id)
            else:
                found.problems.append(f"{item.custom_id} answered twice, differently")
        else:
            found.first[item.custom_id] = _digest(item.message)
            _look_at(item, requests[item.custom_id], target, found)
    found.problems += [f"{key}, which is no exported request" for key in strangers]
    return found


def _look_at(item: Given, request: ExportedRequest, target: "_Target", found: _Survey) -> None:
    try:
        served = parse_message(item.message).model
    except NotAMessageError as error:
        found.problems.append(f"{item.custom_id}, whose message is none ({error})")
        return
    if not is_pinned_model(request.model, served):
        found.problems.append(
            f"{item.custom_id}, answered by {served!r} and not by {request.model!r}"
        )
    standing = target.message_of(item.custom_id)
    if standing is not None and same_message(standing, item.message):
        return
    found.to_write.add(item.custom_id)
    if standing is not None:
        found.different.append(item.custom_id)


def _read_again(
    source: AnswerSource, requests: Mapping[str, ExportedRequest], found: _Survey
) -> Iterator[StoredAnswer]:
    left = set(found.to_write)
    for item in source.items():
        if isinstance(item, Given) and item.custom_id in left:
            left.remove(item.custom_id)
            if _digest(item.message) != found.first[item.custom_id]:
                refuse(source.where, [f"{item.custom_id} changed"], "files at rest", "Try again.")
            served = parse_message(item.message).model
            model = requests[item.custom_id].model
            yield StoredAnswer(item.custom_id, item.message, model, served, None)


def _digest(message: str) -> bytes:
    """Return the same for texts that say the same."""
    canonical = json.dumps(json.loads(message), sort_keys=True)
    return hashlib.sha256(canonical.encode()).digest()


class _Target(Protocol):
    def message_of(self, request_hash: str) -> str | None: ...

    def write(self, answers: Iterable[StoredAnswer], *, replace: bool) -> None: ...

    def close(self) -> None: ...


class _Store(_Target):
    def __init__(self, path: Path) -> None:
        self._path = path
        # An import that is refused must not make an empty one.
        self._store = AnswerStore(path) if path.exists() else None

    def message_of(self, request_hash: str) -> str | None:
        stored = None if self._store is None else self._store.get(request_hash)
        return None if stored is None else stored.message

    def write(self, answers: Iterable[StoredAnswer], *, replace: bool) -> None:
        if self._store is None:
            self._store = AnswerStore(self._path)
        self._store.put_all(answers, replace=replace)

    def close(self) -> None:
        if self._store is not None:
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

    def write(self, answers: Iterable[StoredAnswer], *, replace: bool) -> None:
        del replace  # what is written here was read when this object was made
        new = {each.request_hash: json.loads(each.message) for each in answers}
        if not new:
            return
        self._messages |= new
        lines = (
            {"custom_id": key, "result": {"type": "succeeded", "message": self._messages[key]}}
            for key in sorted(self._messages)
        )
        try:
            make_private(self._path.parent)
            write_atomically(self._path, json_lines(lines, ascii_only=False))
        except OSError as error:
            raise ExchangeError(
                str(self._path), str(error), "a writable file", "Choose another --into."
            ) from error

    def close(self) -> None:
        pass
