import json
from pathlib import Path
from typing import Any

import pytest

from evals.errors import StoreError
from evals.judging.recordings import Recordings
from tests.judging.helpers import message_for


def line(key: str, text: str = "x", **changed: Any) -> str:
    result = {"type": "succeeded", "message": json.loads(message_for(text))}
    return json.dumps({"custom_id": key, "result": result} | changed)


def write(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_every_jsonl_in_the_folder_is_a_layer_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, "one.jsonl", line("a", "from one"), "", line("b"), "")
    write(tmp_path, "two.jsonl", line("c", "from two"))
    write(tmp_path, "README.md", "no recording")
    recordings = Recordings(tmp_path)
    assert len(recordings) == 3
    assert recordings.message_of("a") == message_for("from one")
    assert recordings.message_of("c") == message_for("from two")
    assert recordings.message_of("d") is None


def test_a_message_comes_back_with_all_that_it_holds(tmp_path: Path) -> None:
    text = 'quote " U+2028 \u2028 snow ☃ \\n'
    write(tmp_path, "a.jsonl", line("a", text), line("b"))
    found = Recordings(tmp_path).message_of("a")
    assert found is not None
    assert json.loads(found) == json.loads(message_for(text))


@pytest.mark.parametrize(
    "text",
    [
        line("a").replace(": ", ":"),
        "  " + line("a"),
        json.dumps(dict(reversed(json.loads(line("a")).items()))),
    ],
)
def test_white_space_and_the_order_of_keys_do_not_matter(tmp_path: Path, text: str) -> None:
    write(tmp_path, "a.jsonl", text)
    assert Recordings(tmp_path).message_of("a") is not None


def test_a_folder_that_is_not_there_holds_none(tmp_path: Path) -> None:
    recordings = Recordings(tmp_path / "nowhere")
    assert len(recordings) == 0
    assert recordings.message_of("a") is None


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"id": "a"}', '{"custom_id": 7, "result": {}}', "{'custom_id': 'a'}"],
)
def test_a_line_without_a_readable_id_is_refused_when_opening(tmp_path: Path, text: str) -> None:
    write(tmp_path, "a.jsonl", line("b"), text)
    with pytest.raises(StoreError, match=r"a\.jsonl:2"):
        Recordings(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        line("a", more=1),
        line("a", result={"type": "errored", "error": {}}),
        line("a", result={"type": "succeeded"}),
        line("a", result={"type": "succeeded", "message": "text"}),
        line("a")[:-1],
    ],
)
def test_a_line_that_is_not_exactly_a_recording_is_refused_when_asked_for(
    tmp_path: Path, text: str
) -> None:
    write(tmp_path, "a.jsonl", line("b"), text)
    recordings = Recordings(tmp_path)
    assert recordings.message_of("b") is not None
    with pytest.raises(StoreError, match=r"a\.jsonl:2"):
        recordings.message_of("a")


def test_two_values_of_the_id_in_one_line_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", line("b")[:-1] + ', "custom_id": "a"}')
    with pytest.raises(StoreError, match=r"custom_id 'a'.*'b'"):
        Recordings(tmp_path).message_of("b")


def test_two_answers_to_one_request_are_refused_with_both_places(tmp_path: Path) -> None:
    write(tmp_path, "one.jsonl", line("a", "yes"))
    write(tmp_path, "two.jsonl", line("b"), line("a", "no"))
    with pytest.raises(StoreError, match=r"two\.jsonl:2.*one\.jsonl:1"):
        Recordings(tmp_path)


def test_the_same_answer_twice_is_one(tmp_path: Path) -> None:
    write(tmp_path, "one.jsonl", line("a"))
    write(tmp_path, "two.jsonl", line("a").replace(": ", ":"))
    assert len(Recordings(tmp_path)) == 1


def test_opening_parses_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.jsonl", *(line(f"{number:064x}", "long " * 600) for number in range(2000)))
    parsed: list[bytes] = []
    monkeypatch.setattr("evals.judging.recordings.parse_line", lambda text, _: parsed.append(text))
    assert len(Recordings(tmp_path)) == 2000
    assert parsed == []


def test_hashes_are_found_by_their_beginning(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", line("ab2"), line("ab1"), line("b"))
    assert Recordings(tmp_path).hashes_starting_with("ab") == ("ab1", "ab2")
