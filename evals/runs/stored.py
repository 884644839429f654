"""Rows and windows of a run where they lie on disk: each is read when it is asked for.

A row takes 15 KiB of memory, and a run can have a hundred thousand. So whoever writes or checks a
run keeps where each row starts, and nothing of the row itself.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar, cast, overload

from pydantic import BaseModel, ValidationError

from evals.coverage.row import CoverageRow
from evals.errors import RunError
from evals.judging.case import Row
from evals.premise.row import ConclusionRow
from evals.records import Window
from evals.set_level.row import SetLevelRow
from evals.untrusted import for_terminal

RecordT = TypeVar("RecordT", bound=BaseModel)
RowT = TypeVar("RowT", bound=Row)
RowT_co = TypeVar("RowT_co", bound=Row, covariant=True)

ROW_SHAPES: dict[str, type[Row]] = {
    "premise": ConclusionRow,
    "set_level": SetLevelRow,
    "coverage": CoverageRow,
}
"""Instrument -> the shape of its rows: a new instrument is one entry more."""

RESTORE = "Restore the file, or judge the trace again: stored answers cost no call."


class RowIndex:
    """Where each row of a file starts, what it is, and which window it is about."""

    def __init__(self, path: Path) -> None:
        """Take the file; it has no rows yet."""
        self.path = path
        self._starts = array("Q")
        self._shapes: list[type[Row]] = []
        self._window_ids: list[str] = []
        self._known_ids: dict[str, str] = {}

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._starts)

    def add(self, start: int, shape: type[Row], window_id: str) -> int:
        """Take the next row; return its place, from 0.

        Args:
            start: first byte of its line.
            shape: one of ``ROW_SHAPES``.
            window_id: the window that it is about.
        """
        self._starts.append(start)
        self._shapes.append(shape)
        self._window_ids.append(self._known_ids.setdefault(window_id, window_id))
        return len(self._starts) - 1

    @property
    def rows(self) -> "StoredRows[Row]":
        """All of them that are there now."""
        return StoredRows(self, range(len(self._starts)))

    def places_of(self, shape: type[Row], places: Iterable[int]) -> "array[int]":
        """Return those of ``places`` that hold a row of ``shape``."""
        return array("Q", (place for place in places if issubclass(self._shapes[place], shape)))

    def window_id(self, place: int) -> str:
        """Return the window of a row."""
        return self._window_ids[place]

    def read(self, places: Iterable[int]) -> Iterator[Row]:
        """Yield rows, read from the file one by one.

        Raises:
            RunError: the file is not any more what it was.
        """
        try:
            with self.path.open("rb") as file:
                for place in places:
                    file.seek(self._starts[place])
                    where = f"{self.path}, byte {self._starts[place]}"
                    yield parsed(file.readline(), self._shapes[place], where)
        except OSError as error:
            raise unreadable(self.path, error) from error


class StoredRows(Sequence[RowT_co], Generic[RowT_co]):
    """Rows of one file, in their order. To go through them keeps none of them in memory."""

    def __init__(self, index: RowIndex, places: Sequence[int]) -> None:
        """Take which rows of the file they are."""
        self._index = index
        self._places = places

    def __len__(self) -> int:
        """Return how many rows these are."""
        return len(self._places)

    def __iter__(self) -> Iterator[RowT_co]:
        """Yield each row."""
        return cast("Iterator[RowT_co]", self._index.read(self._places))

    @overload
    def __getitem__(self, at: int) -> RowT_co: ...
    @overload
    def __getitem__(self, at: slice) -> "StoredRows[RowT_co]": ...
    def __getitem__(self, at: int | slice) -> "RowT_co | StoredRows[RowT_co]":
        """Return one row, or the rows of a slice."""
        if isinstance(at, slice):
            return StoredRows(self._index, self._places[at])
        (row,) = self.at([at])
        return row

    def of(self, shape: type[RowT]) -> "StoredRows[RowT]":
        """Return those of one shape; no other is read for it."""
        return StoredRows(self._index, self._index.places_of(shape, self._places))

    def at(self, places: Iterable[int]) -> list[RowT_co]:
        """Return the rows at these places, from 0, in their order."""
        found = self._index.read(self._places[place] for place in places)
        return cast("list[RowT_co]", list(found))

    @property
    def window_ids(self) -> list[str]:
        """The window of each row; no row is read for it."""
        return [self._index.window_id(place) for place in self._places]


def rows_of(shape: type[RowT], rows: Sequence[Row]) -> Sequence[RowT]:
    """Return the rows of one shape, in their order."""
    if isinstance(rows, StoredRows):
        return rows.of(shape)
    return [row for row in rows if isinstance(row, shape)]


def rows_by_window(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield each window's id and its rows, by their first row; only these are in memory."""
    if not isinstance(rows, StoredRows):
        for window_id, places in _places_by(row.provenance.window_id for row in rows).items():
            yield window_id, [rows[place] for place in places]
        return
    for window_id, places in _places_by(rows.window_ids).items():
        yield window_id, rows.at(places)


def _places_by(window_ids: Iterable[str]) -> dict[str, "array[int]"]:
    places: dict[str, array[int]] = {}
    for place, window_id in enumerate(window_ids):
        places.setdefault(window_id, array("Q")).append(place)
    return places


class StoredWindows(Mapping[str, Window]):
    """The windows of ``windows.jsonl`` by id, each read when it is asked for."""

    def __init__(self, path: Path) -> None:
        """Take the file; it has no windows yet."""
        self.path = path
        self._known: dict[str, tuple[int, str]] = {}

    def add(self, window: Window, start: int) -> None:
        """Take the next window, which starts at this byte."""
        self._known[window.window_id] = start, window.window_text_hash

    def text_hash(self, window_id: str) -> str | None:
        """Return the hash of a window's text; None where there is no such window."""
        found = self._known.get(window_id)
        return None if found is None else found[1]

    def __len__(self) -> int:
        """Return how many windows there are."""
        return len(self._known)

    def __iter__(self) -> Iterator[str]:
        """Yield each id."""
        return iter(self._known)

    def __contains__(self, window_id: object) -> bool:
        """Tell whether there is such a window, without reading it."""
        return window_id in self._known

    def __getitem__(self, window_id: str) -> Window:
        """Return one window.

        Raises:
            RunError: the file is not any more what it was.
        """
        start, _ = self._known[window_id]
        try:
            with self.path.open("rb") as file:
                file.seek(start)
                return parsed(file.readline(), Window, f"{self.path}, byte {start}")
        except OSError as error:
            raise unreadable(self.path, error) from error


def parsed(content: bytes, shape: type[RecordT], where: str) -> RecordT:
    """Return one record of a run, read strictly.

    Raises:
        RunError: it is anything else than its writer writes.
    """
    try:
        return shape.model_validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise RunError(
            where,
            for_terminal(f"{key}: {first['msg']}", 300),
            f"a {shape.__name__.strip('_')} as this project writes it",
            RESTORE,
        ) from error


def unreadable(path: Path, error: OSError) -> RunError:
    """Return the error for a file of a run that cannot be read."""
    return RunError(str(path), str(error), "a file of the run record", RESTORE)
