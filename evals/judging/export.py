"""Requests out, one by one as they are met: a round to be answered elsewhere.

Nothing of a request is kept in memory but its hash, so a round can be of any size. Files of the
Message Batches' form are begun anew where one would be more than one batch can hold. What an
earlier export left in the folder is replaced when this one is whole, and stays where it is not.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from evals.errors import ExchangeError
from evals.files import make_private
from evals.judging.batch.spool import MAX_BYTES, MAX_REQUESTS, Room, request_line
from evals.judging.exchange import MANIFEST, TEXT_FOLDER, name_of_requests, request_files
from evals.judging.request import JudgeRequest

ANSWER_LINE = "Answer with the JSON object alone."
_TEXT_NAME = re.compile(r"[0-9a-f]{64}\.txt")
_PART = ".part"
"""End of a file that is still written; it begins with a dot."""
_PART_NAME = re.compile(rf"\.(requests-\d{{3,}}|manifest){re.escape(_PART)}")


@dataclass(frozen=True)
class ExportReport:
    """What was written."""

    folder: Path
    requests: int
    by_purpose: dict[str, int]


class _Part(NamedTuple):
    path: Path
    file: IO[bytes]


class Export:
    """One export in the making."""

    def __init__(
        self,
        folder: Path,
        *,
        as_text: bool,
        max_requests: int = MAX_REQUESTS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """Write nothing yet.

        Args:
            folder: made 0700 where it is not there; the files are 0600, for they hold
                conversations.
            as_text: also one plain file a request: system text, user text, ``ANSWER_LINE``.
            max_requests: in one file.
            max_bytes: of the batch that one file makes.
        """
        self._folder = folder
        self._as_text = as_text
        self._room = Room(max_requests, max_bytes)
        self._hashes: set[str] = set()
        self._by_purpose: Counter[str] = Counter()
        self._files: list[_Part] = []
        self._manifest: _Part | None = None
        self._error: OSError | None = None

    def add(self, request: JudgeRequest) -> None:
        """Write a request, the first time that its hash comes; what fails, ``finish`` raises."""
        if request.request_hash in self._hashes or self._error is not None:
            return
        try:
            self._write(request)
        except OSError as error:
            self._error = error
        self._hashes.add(request.request_hash)
        self._by_purpose[request.purpose] += 1

    def finish(self) -> ExportReport:
        """Put the files in their places, an earlier export's out of the way.

        Raises:
            ExchangeError: the folder cannot be written.
        """
        try:
            if self._error is not None:
                raise self._error
            self._begin()
            self._put_in_place()
        except OSError as error:
            self.close()
            raise ExchangeError(
                str(self._folder), str(error), "a writable folder", "Choose another folder."
            ) from error
        return ExportReport(self._folder, len(self._hashes), dict(self._by_purpose))

    def close(self) -> None:
        """Leave nothing of an export that does not come to its end; may be called twice."""
        for part in [*self._files, *([] if self._manifest is None else [self._manifest])]:
            with suppress(OSError):  # a full disk takes no more of what is thrown away here
                part.file.close()
            part.path.unlink(missing_ok=True)

    def _write(self, request: JudgeRequest) -> None:
        manifest = self._begin()
        line = request_line(request)
        if not self._files or not self._room.take(len(line)):
            self._files.append(self._part(f"requests-{len(self._files) + 1:03d}"))
            self._room.start(len(line))
        self._files[-1].file.write(line + b"\n")
        note = {
            "custom_id": request.request_hash,
            "purpose": request.purpose,
            "repeat": request.settings.repeat,
        }
        manifest.file.write(json.dumps(note).encode() + b"\n")
        if self._as_text:
            text = f"{request.prompt.system}\n\n{request.user}\n\n{ANSWER_LINE}\n"
            (self._folder / TEXT_FOLDER).mkdir(mode=0o700, exist_ok=True)
            with _open_anew(self._folder / TEXT_FOLDER / f"{request.request_hash}.txt") as file:
                file.write(text.encode())

    def _begin(self) -> _Part:
        if self._manifest is None:
            make_private(self._folder)
            for left in self._folder.iterdir():  # of an export that was killed
                if _PART_NAME.fullmatch(left.name):
                    left.unlink()
            self._manifest = self._part("manifest")
        return self._manifest

    def _part(self, stem: str) -> _Part:
        path = self._folder / f".{stem}{_PART}"
        return _Part(path, _open_anew(path))

    def _put_in_place(self) -> None:
        assert self._manifest is not None
        if not self._files:
            self._files.append(self._part("requests-001"))
        for part in [*self._files, self._manifest]:
            part.file.flush()
            os.fsync(part.file.fileno())
            part.file.close()
        names = [name_of_requests(number, len(self._files)) for number in range(len(self._files))]
        for path in request_files(self._folder):
            if path.name not in names:
                path.unlink()
        for part, name in zip(self._files, names, strict=True):
            part.path.replace(self._folder / name)
        self._manifest.path.replace(self._folder / MANIFEST)
        self._drop_old_texts()

    def _drop_old_texts(self) -> None:
        # What an earlier round asked would be answered again, and refused at import.
        texts = self._folder / TEXT_FOLDER
        if not texts.is_dir():
            return
        for path in texts.iterdir():
            is_ours = _TEXT_NAME.fullmatch(path.name) is not None
            if is_ours and not (self._as_text and path.stem in self._hashes):
                path.unlink()


def export_requests(
    requests: Iterable[JudgeRequest], folder: Path, *, as_text: bool
) -> ExportReport:
    """Write requests, each hash once, in the order given; see ``Export``.

    Raises:
        ExchangeError: the folder cannot be written.
    """
    export = Export(folder, as_text=as_text)
    for request in requests:
        export.add(request)
    return export.finish()


def _open_anew(path: Path) -> IO[bytes]:
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
