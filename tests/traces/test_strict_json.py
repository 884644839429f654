from pathlib import Path

import pytest

from evals.errors import TraceError
from evals.traces.strict_json import parse_json, read_json_document, read_json_lines


def values_of(path: Path, content: bytes) -> list[object]:
    path.write_bytes(content)
    return [line.value for line in read_json_lines(path)]


def test_lines_end_at_line_feeds_alone(tmp_path: Path) -> None:
    text = '{"a": "x\u2028y\u2029z\x85w"}\r\n\r\n   \n{"a": 2}'
    values = values_of(tmp_path / "t", text.encode())
    assert values == [{"a": "x\u2028y\u2029z\x85w"}, {"a": 2}]


def test_blank_lines_count_in_line_numbers_and_a_byte_order_mark_does_not_matter(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n\n{"a": 2}\n')
    lines = list(read_json_lines(path))
    assert [(line.where, line.value) for line in lines] == [
        (f"{path}:1", {"a": 1}),
        (f"{path}:3", {"a": 2}),
    ]


def test_invalid_utf8_is_named_with_line_and_byte_and_ends_nothing(tmp_path: Path) -> None:
    good, bad, after = values_of(tmp_path / "t", b'{"a": 1}\n{"a": "\xff"}\n{"a": 3}\n')
    assert good == {"a": 1}
    assert isinstance(bad, TraceError)
    assert bad.where.endswith("t:2")
    assert bad.found == "byte 0xff at offset 7 (invalid start byte)"
    assert after == {"a": 3}


def test_a_cut_last_line_says_so(tmp_path: Path) -> None:
    _, cut = values_of(tmp_path / "t", b'{"a": 1}\n{"a": "never end')
    assert isinstance(cut, TraceError)
    assert cut.where.endswith("t:2")
    assert "cut off" in cut.todo


def test_a_bad_line_that_is_whole_is_not_called_cut(tmp_path: Path) -> None:
    (bad,) = values_of(tmp_path / "t", b'{"a": }\n')
    assert isinstance(bad, TraceError)
    assert "cut" not in str(bad)
    assert "column 7" in bad.found


@pytest.mark.parametrize("line", [b"[1]", b"3", b'"text"', b"null"])
def test_a_line_that_is_no_object_is_a_fault(tmp_path: Path, line: bytes) -> None:
    (value,) = values_of(tmp_path / "t", line + b"\n")
    assert isinstance(value, TraceError)
    assert value.wanted == "one JSON object"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"a": 1, "b": 2, "a": 3}', "'a' twice"),
        ('{"o": {"a": 1, "a": 1}}', "'a' twice"),
        ("[NaN]", "NaN"),
        ("[-Infinity]", "-Infinity"),
        ("[1e999]", "1e999"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 200_000, "nested too deeply"),
        ("[" + "9" * 5000 + "]", "digits"),
        ("", "Expecting value"),
        ('{"a": 1} {"a": 2}', "Extra data"),
        ('"a\tb"', "control character"),
        ("[\n1\n2]", "line 3, column 1"),
    ],
)
def test_what_is_not_strict_json_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_json(text)


def test_deep_but_readable_json_is_read() -> None:
    assert parse_json("[" * 100 + "]" * 100) != []


def test_a_document_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b'\xef\xbb\xbf{\n "a": [1,\n 2]}\n')
    assert read_json_document(path) == {"a": [1, 2]}


@pytest.mark.parametrize("content", [b"{\n", b'{"a": "\xc3"}', b'{"a": 1, "a": 2}'])
def test_a_bad_document_names_its_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        read_json_document(path)
    assert caught.value.where == str(path)
