"""The requests that recorded mode has no answer to: counted, and written out where asked for."""

from collections import Counter
from dataclasses import dataclass

from evals.judging.export import Export, ExportReport
from evals.judging.request import JudgeRequest


@dataclass(frozen=True)
class MissingAnswers:
    """What was lacking, and where it was written."""

    by_purpose: dict[str, int]
    """Distinct requests, in the order in which their purposes were met."""
    exported: ExportReport | None
    """None where no export was asked for, or nothing was lacking."""

    @property
    def requests(self) -> int:
        """All of them."""
        return sum(self.by_purpose.values())


class Missing:
    """Takes them one by one. Their texts are not kept: there can be a hundred thousand."""

    def __init__(self, export: Export | None = None) -> None:
        """Lack nothing yet.

        Args:
            export: where each is written; None: nowhere.
        """
        self._export = export
        self._hashes: set[str] = set()
        self._by_purpose: Counter[str] = Counter()

    def note(self, request: JudgeRequest) -> None:
        """Take a request, the first time that its hash comes."""
        if request.request_hash in self._hashes:
            return
        self._hashes.add(request.request_hash)
        self._by_purpose[request.purpose] += 1
        if self._export is not None:
            self._export.add(request)

    def finish(self) -> MissingAnswers:
        """Return what was lacking; an export is whole from here on.

        Raises:
            ExchangeError: it cannot be written.
        """
        exported = None
        if self._export is not None and self._hashes:
            exported = self._export.finish()
        return MissingAnswers(dict(self._by_purpose), exported)

    def close(self) -> None:
        """Leave nothing of an export that was not finished."""
        if self._export is not None:
            self._export.close()
