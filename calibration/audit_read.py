"""Reading a marked sheet back, strictly: every fault is named with its window, fact and key."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from calibration.audit_sheet import (
    Sheet,
    SheetFact,
    SheetWindow,
    fact_seal,
    sheet_seal,
    window_seal,
)
from calibration.strict_yaml import read_yaml
from evals.coverage.licence import licenses_nothing
from evals.coverage.relative_time import relative_expressions
from evals.coverage.schema import GoldItem
from evals.coverage.spans import message_with
from evals.errors import CalibrationError
from evals.records import window_text_hash_of
from evals.untrusted import for_terminal

_TODO = "Correct the sheet there, or write a new one and mark it again."
_SHOWN = 5
"""Further places that a message names."""


def read_sheet(path: Path) -> Sheet:
    """Read a sheet that a person has marked.

    Raises:
        CalibrationError: it is not YAML of the sheet's form; something sealed was changed, added or
            left out; or a mark cannot be used. Names the window, the fact and the key.
    """
    try:
        content = read_yaml(path)
    except CalibrationError as error:
        raise CalibrationError(error.where, error.found, error.wanted, _TODO) from error
    try:
        sheet = Sheet.model_validate(content)
    except ValidationError as error:
        first, *others = error.errors(include_url=False)
        found = "nothing" if first["type"] == "missing" else for_terminal(repr(first["input"]), 80)
        wanted = {"missing": "this key", "extra_forbidden": "no key of this name"}
        raise CalibrationError(
            f"{path}: {_place(content, first['loc'])}",
            found,
            wanted.get(first["type"]) or for_terminal(first["msg"]),
            _with_others([_place(content, item["loc"]) for item in others]),
        ) from error
    problems = list(_problems(sheet))
    if problems:
        first_problem, *more = problems
        raise CalibrationError(
            f"{path}: {first_problem.place}",
            first_problem.found,
            first_problem.wanted,
            _with_others([problem.place for problem in more]),
        )
    return sheet


class _Problem(NamedTuple):
    place: str
    found: str
    wanted: str


def _problems(sheet: Sheet) -> Iterator[_Problem]:
    seen: set[str] = set()
    for window in sheet.windows:
        place = f"window {for_terminal(window.window_id, 80)}"
        if window.window_id in seen:
            yield _Problem(place, "the same window twice", "each window once")
        seen.add(window.window_id)
        yield from _changed(window, place)
        for fact in window.facts:
            yield from _unusable(fact, f"{place}, fact {for_terminal(fact.gold_id, 20)}")
        for number, item in enumerate(window.missing or (), 1):
            yield from _unfit(item, window, f"{place}, missing {number}")
    if sheet.seal != sheet_seal(sheet):
        found = f"{len(sheet.windows)} windows that are not those it was written with"
        yield _Problem("key windows", found, "every window once, in its order, and the run's id")


def _changed(window: SheetWindow, place: str) -> Iterator[_Problem]:
    if window.window_text_hash != window_text_hash_of(window.as_messages):
        found = for_terminal(window.window_text_hash, 80)
        yield _Problem(f"{place}, key window_text_hash", found, "the hash of its messages")
    by_id = {message.id: message.text for message in window.messages}
    for fact in window.facts:
        fact_place = f"{place}, fact {for_terminal(fact.gold_id, 20)}"
        if fact.seal != fact_seal(window.window_text_hash, fact):
            yield _Problem(fact_place, "something changed that is not to be marked", "it as it was")
        elif fact.message != by_id.get(fact.message_id):
            found = "another text than that of its message"
            yield _Problem(f"{fact_place}, key message", found, "the message as it was")
    if window.seal != window_seal(window):
        found = f"{len(window.facts)} facts that are not those it was written with"
        yield _Problem(
            f"{place}, key facts", found, "every fact once, in its order, and the peers as written"
        )


def _unusable(fact: SheetFact, place: str) -> Iterator[_Problem]:
    corrected = fact.corrections
    if fact.verdict != "fix":
        if corrected:
            keys = ", ".join(f"corrected_{name}" for name in corrected)
            yield _Problem(f"{place}, key {keys}", "a correction", "one under verdict fix alone")
        return
    if not corrected or corrected == {name: getattr(fact, name) for name in corrected}:
        yield _Problem(f"{place}, key verdict", "fix, and nothing corrected", "what is to change")
    if fact.corrected_fact is not None:
        yield from _unfit_text(fact.corrected_fact, f"{place}, key corrected_fact")


def _unfit(item: GoldItem, window: SheetWindow, place: str) -> Iterator[_Problem]:
    if item.peer_id not in window.peers:
        found = for_terminal(repr(item.peer_id), 60)
        yield _Problem(f"{place}, key peer_id", found, f"one of {_listed(window.peers)}")
    if message_with(item.source_span, window.as_messages) is None:
        found = for_terminal(repr(item.source_span), 60)
        yield _Problem(f"{place}, key source_span", found, "words of one message, copied exactly")
    yield from _unfit_text(item.fact, f"{place}, key fact")
    if not item.category.strip():
        yield _Problem(f"{place}, key category", "blank text", "a category")
    if licenses_nothing(item.licensed_inference):
        yield _Problem(
            f"{place}, key licensed_inference",
            for_terminal(repr(item.licensed_inference), 60),
            "something that follows from the fact: one that licenses nothing is no gold",
        )


def _unfit_text(fact: str, place: str) -> Iterator[_Problem]:
    if not fact.strip():
        yield _Problem(place, "blank text", "a fact")
    relative = relative_expressions(fact)
    if relative:
        yield _Problem(
            place,
            f"relative time: {for_terminal(', '.join(relative), 80)}",
            "a date, or an open hedge (3.3)",
        )


def _place(content: Any, loc: tuple[int | str, ...]) -> str:
    parts: list[str] = []
    node = content
    for step in loc:
        node = _inside(node, step)
        if isinstance(step, str):
            parts.append(f"key {for_terminal(step, 40)}")
            continue
        kind, key = _NAMED.get(parts[-1]) or (parts[-1], "")
        name = _inside(node, key)
        shown = for_terminal(name, 80) if isinstance(name, str) else str(step + 1)
        parts[-1] = f"{kind} {shown}"
    return ", ".join(parts) or "the whole"


_NAMED = {"key windows": ("window", "window_id"), "key facts": ("fact", "gold_id")}
"""What stands in a list -> how a message calls it, and by which key of its own."""


def _inside(node: Any, step: int | str) -> Any:
    # None where there is nothing: what a message is about can be missing.
    if isinstance(step, str):
        return node.get(step) if isinstance(node, dict) else None
    return node[step] if isinstance(node, tuple) and step < len(node) else None


def _with_others(places: Sequence[str]) -> str:
    others = list(dict.fromkeys(places))
    if not others:
        return _TODO
    more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    return f"{_TODO} Wrong there too: {'; '.join(others[:_SHOWN])}{more}."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(for_terminal(repr(name), 60) for name in names)
