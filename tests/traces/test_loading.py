import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evals.errors import ConfigError, TraceError
from evals.traces import TRACE_FORMATS, load_trace

CallMaker = Callable[..., dict[str, Any]]
Writer = Callable[..., Path]


def test_the_formats_are_named() -> None:
    assert TRACE_FORMATS == ("honcho", "jsonl", "locomo")


@pytest.mark.parametrize(
    ("name", "advice"), [("honchho", "'honcho'"), ("JSONL", "told from"), ("xyzzy", "told from")]
)
def test_an_unknown_format_name_is_a_configuration_error(
    tmp_path: Path, name: str, advice: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_trace(tmp_path, trace_format=name)
    assert advice in caught.value.todo
    assert "honcho, jsonl, locomo" in caught.value.wanted


@pytest.mark.parametrize("skip_bad_records", [False, True])
@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "an empty file"),
        (b"\n  \n", "an empty file"),
        (b"\xef\xbb\xbf", "an empty file"),
        (b"hello\n", "no known format"),
        (b'{"a": 1}\n', "no known format"),
        (b"[]", "no known format"),
        (b'[{"haystack_sessions": []}]', "no known format"),
        (b"[" * 100_000, "no known format"),
        (b"\x00\xff\xfe", "no known format"),
    ],
)
def test_a_file_without_a_trace_is_refused(
    tmp_path: Path, content: bytes, complaint: str, *, skip_bad_records: bool
) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=complaint) as caught:
        load_trace(path, skip_bad_records=skip_bad_records)
    assert caught.value.where == str(path)


@pytest.mark.parametrize("name", TRACE_FORMATS)
def test_a_named_format_finds_an_empty_or_alien_file_bad_too(tmp_path: Path, name: str) -> None:
    path = tmp_path / "trace.jsonl"
    for content in ("", "\n", '{"a": 1}\n', "nothing"):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(TraceError, match=r"trace\.jsonl"):
            load_trace(path, trace_format=name)


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file or folder"):
        load_trace(tmp_path / "none.jsonl")


@pytest.mark.skipif(not Path(os.devnull).is_char_device(), reason="needs a device file")
def test_what_is_neither_file_nor_folder_is_an_error() -> None:
    with pytest.raises(TraceError, match="something that is no file"):
        load_trace(Path(os.devnull))


def test_a_folder_without_traces_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "x.json").mkdir()
    with pytest.raises(TraceError, match="a folder without trace files"):
        load_trace(tmp_path)


def test_an_unreadable_file_is_a_trace_error(
    monkeypatch: pytest.MonkeyPatch, honcho_call: CallMaker, write_lines: Writer
) -> None:
    path = write_lines(honcho_call())

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(TraceError, match="Permission denied"):
        load_trace(path)


def test_a_folder_is_read_by_file_name_and_formats_may_differ(
    tmp_path: Path,
    honcho_call: CallMaker,
    write_lines: Writer,
    locomo_conversation: dict[str, Any],
) -> None:
    write_lines(honcho_call(), name="b.jsonl")
    write_lines(honcho_call(timestamp=1780574500), name="a.NDJSON")
    (tmp_path / "c.json").write_text(json.dumps(locomo_conversation), encoding="utf-8")
    (tmp_path / "README.md").touch()
    trace = load_trace(tmp_path)
    assert trace.import_report.trace_format == "honcho, locomo"
    assert trace.import_report.records_read == 5
    first, second = (window.conclusions[0].derived_at for window in trace.windows[:2])
    assert first is not None
    assert second is not None
    assert first > second  # a.NDJSON holds the later call
    assert len({window.window_id for window in trace.windows}) == 4
    assert [(item.kind, item.where) for item in trace.import_report.skipped] == [
        ("other_file", str(tmp_path / "README.md")),
        ("no_conclusions", f"{tmp_path / 'c.json'} at $.session_2"),
    ]


def test_a_record_that_stands_in_two_files_is_refused(
    tmp_path: Path, honcho_call: CallMaker, write_lines: Writer
) -> None:
    write_lines(honcho_call(), name="a.jsonl")
    write_lines(honcho_call(), name="copy.jsonl")
    with pytest.raises(
        TraceError, match=r"copy\.jsonl:1: found the window id .* also at .*a\.jsonl"
    ):
        load_trace(tmp_path)


def test_every_bad_record_is_listed_the_first_twenty_in_full(
    honcho_call: CallMaker, write_lines: Writer
) -> None:
    path = write_lines(honcho_call(), *[honcho_call(model=None)] * 23)
    with pytest.raises(TraceError) as caught:
        load_trace(path)
    assert caught.value.where == str(path)
    assert caught.value.found == "23 bad of 24 records"
    assert "--skip-bad-records" in caught.value.todo
    lines = str(caught.value).splitlines()[1:]
    assert [line.split(" at ")[0].strip() for line in lines[:20]] == [
        f"{path}:{number}" for number in range(2, 22)
    ]
    assert all("found null; wanted" in line for line in lines[:20])
    assert lines[20:] == ["  … and 3 more"]


def test_bad_records_can_be_left_out_and_are_listed(
    tmp_path: Path, honcho_call: CallMaker, write_lines: Writer
) -> None:
    path = write_lines(honcho_call(), honcho_call(model=None))
    path.write_bytes(path.read_bytes() + b'{"cut')
    trace = load_trace(path, skip_bad_records=True)
    report = trace.import_report
    assert (report.records_read, report.windows, report.conclusions) == (3, 1, 1)
    assert [(item.kind, item.where.removeprefix(str(tmp_path))) for item in report.skipped] == [
        ("bad", "/trace.jsonl:2 at $.model"),
        ("bad", "/trace.jsonl:3"),
    ]
    assert report.skipped[0].why.startswith("found null; wanted ")


def test_a_bad_file_in_a_folder_can_be_left_out_too(
    tmp_path: Path, honcho_call: CallMaker, write_lines: Writer
) -> None:
    write_lines(honcho_call(), name="a.jsonl")
    (tmp_path / "b.json").write_text("{}", encoding="utf-8")
    with pytest.raises(TraceError, match=r"b\.json: found content of no known format"):
        load_trace(tmp_path)
    report = load_trace(tmp_path, skip_bad_records=True).import_report
    assert [(item.kind, item.where) for item in report.skipped] == [
        ("bad", str(tmp_path / "b.json"))
    ]


def test_a_trace_of_bad_records_alone_is_refused_even_so(
    honcho_call: CallMaker, write_lines: Writer
) -> None:
    with pytest.raises(TraceError, match="Not one can be read"):
        load_trace(write_lines(*[honcho_call(model=None)] * 2), skip_bad_records=True)


def test_a_bad_first_line_does_not_hide_the_format(
    honcho_call: CallMaker, write_lines: Writer
) -> None:
    path = write_lines(honcho_call())
    path.write_bytes(b"\xff\n{\n" + path.read_bytes())
    report = load_trace(path, skip_bad_records=True).import_report
    assert (report.trace_format, report.windows, len(report.skipped)) == ("honcho", 1, 2)


def test_dataset_shape_can_be_overridden(
    tmp_path: Path, honcho_call: CallMaker, write_lines: Writer, locomo_conversation: dict[str, Any]
) -> None:
    write_lines(honcho_call(), name="a.jsonl")
    (tmp_path / "c.json").write_text(json.dumps(locomo_conversation), encoding="utf-8")
    assert [w.dataset_shape for w in load_trace(tmp_path).windows] == [
        "production",
        "benchmark",
        "benchmark",
    ]
    for shape in ("production", "benchmark"):
        windows = load_trace(tmp_path, dataset_shape=shape).windows
        assert {window.dataset_shape for window in windows} == {shape}


def test_messages_of_strangers_cannot_drive_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[31m.jsonl"
    path.write_bytes(b'{"task_type": "\x1b[2J')
    with pytest.raises(TraceError) as caught:
        load_trace(path, trace_format="honcho")
    assert "\x1b" not in str(caught.value)
