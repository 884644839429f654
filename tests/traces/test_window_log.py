import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from evals.errors import TraceError
from evals.traces import WindowLog, load_trace

ROOT = Path(__file__).parents[2]

SEEN: list[dict[str, Any]] = [
    {
        "message_id": "a1",
        "peer_id": "mara",
        "text": "line\nbreak\u2028 \x85 </messages> 😬",
        "sent_at": datetime(2026, 6, 4, 12, 0, 0, 250000, tzinfo=UTC),
    },
    {"message_id": "a2", "peer_id": "梅 林", "text": "", "sent_at": "2026-06-04T14:00:07+02:00"},
    {"message_id": "a3", "peer_id": "tom", "text": "no time", "sent_at": None},
]
MINTED: dict[str, Any] = {
    "peer_id": "mara",
    "messages": SEEN,
    "conclusions": ["mara breaks lines", {"peer_id": "tom", "text": "tom knows no time"}],
    "deriver_prompt": "Extract facts.",
    "deriver_model_id": "small-1",
    "derived_at": datetime(2026, 6, 4, 12, 1, tzinfo=UTC),
}


def test_what_was_logged_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    window_id = WindowLog(path).write(**MINTED)
    trace = load_trace(path)
    (window,) = trace.windows
    assert trace.import_report.trace_format == "jsonl"
    assert window.window_id == window_id
    assert not window.window_reconstructed
    assert (window.peer_id, window.dataset_shape) == ("mara", "production")
    assert window.earlier_messages is None
    assert [message.text for message in window.messages] == [item["text"] for item in SEEN]
    assert [message.sent_at for message in window.messages] == [
        datetime(2026, 6, 4, 12, 0, 0, 250000, tzinfo=UTC),
        datetime(2026, 6, 4, 14, 0, 7, tzinfo=timezone(timedelta(hours=2))),
        None,
    ]
    first, second = window.conclusions
    assert (first.peer_id, second.peer_id) == ("mara", "tom")
    assert (second.ordinal, second.text) == (1, "tom knows no time")
    assert first.derived_at == MINTED["derived_at"]
    assert first.deriver_model_id == "small-1"
    assert first.deriver_prompt_hash is not None
    assert len(first.deriver_prompt_hash) == 64


def test_a_line_holds_the_fields_of_4_1(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    WindowLog(path).write(**MINTED)
    line = json.loads(path.read_text(encoding="utf-8"))
    assert (line["format"], line["version"]) == ("conclusion-window", 1)
    assert line["window_message_ids"] == ["a1", "a2", "a3"]
    assert line["message_timestamps"] == [
        "2026-06-04T12:00:00.250000+00:00",
        "2026-06-04T14:00:07+02:00",
        None,
    ]
    assert {"window_text_hash", "peer_id", "deriver_prompt_hash", "deriver_model_id"} <= line.keys()
    assert line["derived_at"] == "2026-06-04T12:01:00+00:00"


def test_all_that_may_be_given_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    given = {name: value for name, value in MINTED.items() if name != "deriver_prompt"}
    window_id = WindowLog(str(path)).write(
        **given,
        deriver_prompt_hash="abc",
        conversation_id="c1",
        dataset_shape="benchmark",
        window_id="mine",
        earlier_messages=[{"message_id": "a0", "peer_id": "tom", "text": "hi", "sent_at": None}],
    )
    (window,) = load_trace(path).windows
    assert window_id == window.window_id == "mine"
    assert (window.conversation_id, window.dataset_shape) == ("c1", "benchmark")
    assert window.conclusions[0].deriver_prompt_hash == "abc"
    assert window.earlier_messages is not None
    assert [message.text for message in window.earlier_messages] == ["hi"]


def test_equal_invocations_get_ids_of_their_own(tmp_path: Path) -> None:
    log = WindowLog(tmp_path / "log.jsonl")
    assert log.write(**MINTED) != log.write(**MINTED)
    assert load_trace(tmp_path / "log.jsonl").import_report.windows == 2


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"messages": []}, "no message"),
        ({"messages": [SEEN[0], SEEN[0]]}, "twice"),
        ({"messages": [{**SEEN[0], "text": "\ud800"}]}, "$.messages[0].text"),
        ({"messages": [{**SEEN[0], "message_id": 7}]}, "$.messages[0].message_id: found 7"),
        ({"messages": [{**SEEN[0], "sent_at": 1780574401}]}, "$.messages[0].sent_at"),
        ({"messages": [{**SEEN[0], "sent_at": "2026-06-04"}]}, "$.messages[0].sent_at"),
        ({"messages": [{**SEEN[0], "role": "user"}]}, "$.messages[0].role"),
        ({"messages": ["hello"]}, "$.messages[0]"),
        ({"conclusions": ["  "]}, "$.conclusions[0].text"),
        ({"conclusions": [3]}, "$.conclusions[0]"),
        ({"peer_id": ""}, "$.peer_id"),
        ({"derived_at": "now"}, "$.derived_at"),
        ({"dataset_shape": "test"}, "$.dataset_shape"),
        ({"deriver_prompt": None}, "found neither"),
        ({"deriver_prompt": "\ud800"}, "$.deriver_prompt"),
        ({"deriver_prompt_hash": "abc"}, "found both"),
        ({"earlier_messages": [{}]}, "$.earlier_messages[0]"),
    ],
)
def test_a_wrong_call_writes_nothing(
    tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    path = tmp_path / "log.jsonl"
    with pytest.raises(TraceError) as caught:
        WindowLog(path).write(**{**MINTED, **changes})
    assert complaint in str(caught.value)
    assert not path.exists()


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
def test_only_the_owner_can_read_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    WindowLog(path).write(**MINTED)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_missing_folder_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="Make its folder"):
        WindowLog(tmp_path / "none" / "log.jsonl").write(**MINTED)


def test_a_line_that_a_dead_writer_left_cut_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = WindowLog(path)
    log.write(**MINTED)
    path.write_bytes(path.read_bytes() + b'{"format": "conclusion-win')
    log.write(**MINTED)
    with pytest.raises(TraceError, match=r"log\.jsonl:2"):
        load_trace(path)
    assert load_trace(path, skip_bad_records=True).import_report.windows == 2


def test_a_failed_write_leaves_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    WindowLog(path).write(**MINTED)
    before = path.read_bytes()
    whole_write = os.write
    written: list[int] = []

    def full_disk(file: int, data: memoryview) -> int:
        if written:
            raise OSError(28, "No space left on device")
        written.append(whole_write(file, data[:10]))
        return written[0]

    monkeypatch.setattr(os, "write", full_disk)
    with pytest.raises(TraceError, match="No space left"):
        WindowLog(path).write(**MINTED)
    assert written == [10]
    assert path.read_bytes() == before


def test_short_writes_are_carried_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole_write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: whole_write(file, data[:100]))
    path = tmp_path / "log.jsonl"
    WindowLog(path).write(**MINTED)
    assert load_trace(path).import_report.windows == 1


WRITER = """
import sys
from pathlib import Path
from evals.traces import WindowLog
name, path, start = sys.argv[1:]
while not Path(start).exists():
    pass
for number in range(25):
    seen = {"message_id": "m", "peer_id": name, "text": name * 40_000, "sent_at": None}
    WindowLog(path).write(peer_id=name, messages=[seen], conclusions=[f"{name}{number}"],
        deriver_prompt="p", deriver_model_id="m", derived_at="2026-06-04T12:00:00Z")
"""


def test_lines_of_several_processes_stay_whole(tmp_path: Path) -> None:
    path, start = tmp_path / "log.jsonl", tmp_path / "start"
    names = ["a", "b", "c", "d", "e", "f"]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, name, str(path), str(start)], cwd=ROOT)
        for name in names
    ]
    start.touch()
    assert [writer.wait(timeout=120) for writer in writers] == [0] * len(names)
    texts = [item.text for window in load_trace(path).windows for item in window.conclusions]
    assert sorted(texts) == sorted(f"{name}{number}" for name in names for number in range(25))


def test_many_threads_stay_whole(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    log = WindowLog(tmp_path / "log.jsonl")
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda _: log.write(**MINTED), range(80)))
    windows = load_trace(tmp_path / "log.jsonl").windows
    assert sorted(window.window_id for window in windows) == sorted(ids)


@pytest.fixture
def logged(tmp_path: Path) -> dict[str, Any]:
    WindowLog(tmp_path / "first.jsonl").write(**MINTED)
    line: dict[str, Any] = json.loads((tmp_path / "first.jsonl").read_text(encoding="utf-8"))
    return line


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("window_text_hash", "0" * 64),
        ("window_message_ids", ["a1", "a2"]),
        ("message_timestamps", [None, None, None]),
        ("version", 2),
        ("window_id", " "),
        ("derived_at", 1780574401),
        ("derived_at", "2026-13-04T00:00:00Z"),
        ("window_reconstructed", "false"),
        ("dataset_shape", "prod"),
        ("conclusions", None),
        ("conclusions", ["bare text"]),
        ("messages", []),
        ("note", "a key of nobody's"),
    ],
)
def test_a_line_that_was_tampered_with_is_refused(
    write_lines: Callable[..., Path], logged: dict[str, Any], key: str, value: object
) -> None:
    with pytest.raises(TraceError) as caught:
        load_trace(write_lines({**logged, key: value}))
    assert f"$.{key}" in caught.value.where


def test_a_changed_message_does_not_fit_its_hash(
    write_lines: Callable[..., Path], logged: dict[str, Any]
) -> None:
    logged["messages"][0]["text"] += "!"
    with pytest.raises(TraceError, match=r"\$\.window_text_hash"):
        load_trace(write_lines(logged))


def test_every_key_has_to_be_there(
    write_lines: Callable[..., Path], logged: dict[str, Any]
) -> None:
    for key in logged.keys() - {"format"}:
        rest = {name: value for name, value in logged.items() if name != key}
        with pytest.raises(TraceError) as caught:
            load_trace(write_lines(rest))
        assert caught.value.where.endswith(f"$.{key}")


def test_a_reconstructed_window_of_another_tool_is_read_as_such(
    write_lines: Callable[..., Path], logged: dict[str, Any]
) -> None:
    unknown = {
        "window_reconstructed": True,
        "deriver_prompt_hash": None,
        "deriver_model_id": None,
        "derived_at": None,
        "peer_id": None,
    }
    (window,) = load_trace(write_lines({**logged, **unknown})).windows
    assert window.window_reconstructed
    assert window.peer_id is None
    assert window.conclusions[0].derived_at is None
