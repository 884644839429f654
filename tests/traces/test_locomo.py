import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from evals.errors import TraceError
from evals.traces import Trace, load_trace

SHARED = Path(__file__).parents[2].parent / "shared"

Conversation = dict[str, Any]


def load(tmp_path: Path, value: Any, *, skip_bad_records: bool = False) -> Trace:
    path = tmp_path / "26.json"
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return load_trace(path, skip_bad_records=skip_bad_records)


def as_list(conversation: Conversation, *sample_ids: str) -> list[Conversation]:
    observations = {
        key: value for key, value in conversation.items() if key.endswith("observation")
    }
    sessions = {key: value for key, value in conversation.items() if key not in observations}
    return [
        {"sample_id": sample_id, "conversation": sessions, "observation": observations, "qa": []}
        for sample_id in sample_ids
    ]


def test_each_session_with_observations_is_a_reconstructed_window(
    tmp_path: Path, locomo_conversation: Conversation
) -> None:
    trace = load(tmp_path, locomo_conversation)
    first, second = trace.windows
    assert (first.window_id, second.window_id) == ("locomo-26-s01", "locomo-26-s03")
    assert first.window_reconstructed
    assert first.dataset_shape == "benchmark"
    assert (first.conversation_id, first.peer_id) == ("26", None)
    assert [(item.peer_id, item.text) for item in first.conclusions] == [
        ("Ines", "Ines adopted a cat."),
        ("Tom", "Tom has a dog."),
    ]
    assert {item.derived_at for item in first.conclusions} == {None}
    assert {item.deriver_model_id for item in first.conclusions} == {None}


def test_a_session_without_observations_is_reported_and_a_date_without_session_is_not(
    tmp_path: Path, locomo_conversation: Conversation
) -> None:
    report = load(tmp_path, locomo_conversation).import_report
    assert report.records_read == 3
    (skipped,) = report.skipped
    assert skipped.kind == "no_conclusions"
    assert skipped.where.endswith("26.json at $.session_2")


def test_messages_have_the_sessions_naive_date_and_images_their_caption(
    tmp_path: Path, locomo_conversation: Conversation
) -> None:
    first, second = load(tmp_path, locomo_conversation).windows
    plain, image = first.messages
    assert (plain.message_id, plain.peer_id, plain.text) == ("D1:1", "Ines", "I adopted a cat.")
    assert image.text == "Sweet! Mine: [image: a photo of a dog]"
    assert plain.sent_at == image.sent_at == datetime(2023, 5, 8, 13, 56)  # noqa: DTZ001  naive it is
    assert second.messages[0].sent_at == datetime(2023, 9, 13, 0, 9)  # noqa: DTZ001


def test_earlier_messages_are_those_of_all_sessions_before(
    tmp_path: Path, locomo_conversation: Conversation
) -> None:
    first, second = load(tmp_path, locomo_conversation).windows
    assert first.earlier_messages == ()
    assert second.earlier_messages is not None
    assert [message.message_id for message in second.earlier_messages] == ["D1:1", "D1:2", "D2:1"]
    assert second.earlier_messages[0] is first.messages[0]


def test_sessions_come_in_the_order_of_their_numbers(
    tmp_path: Path, locomo_conversation: Conversation
) -> None:
    locomo_conversation["session_10"] = [{"speaker": "Tom", "dia_id": "D10:1", "text": "Bye."}]
    locomo_conversation["session_10_observation"] = {"Tom": []}
    windows = load(tmp_path, locomo_conversation).windows
    assert [window.window_id[-3:] for window in windows] == ["s01", "s03", "s10"]
    assert windows[2].conclusions == ()


@pytest.mark.parametrize("date", ["absent", None, ""])
def test_a_session_without_a_date_has_no_times(
    tmp_path: Path, locomo_conversation: Conversation, date: str | None
) -> None:
    locomo_conversation["session_1_date_time"] = date
    if date == "absent":
        del locomo_conversation["session_1_date_time"]
    first, _ = load(tmp_path, locomo_conversation).windows
    assert {message.sent_at for message in first.messages} == {None}


def test_the_list_form_gives_the_same_windows(
    tmp_path: Path, locomo_conversation: Conversation
) -> None:
    alone = load(tmp_path, locomo_conversation).windows
    listed = load(tmp_path, as_list(locomo_conversation, "conv-1", "conv-2")).windows
    assert [window.window_text_hash for window in listed] == 2 * [
        window.window_text_hash for window in alone
    ]
    assert [window.conversation_id for window in listed] == 2 * ["conv-1"] + 2 * ["conv-2"]
    assert listed[2].earlier_messages == ()


def test_conversations_whose_names_have_the_same_slug_have_windows_of_their_own(
    tmp_path: Path, locomo_conversation: Conversation
) -> None:
    for name in ("会话一", "会话二", "26", "conv-26"):
        text = json.dumps(locomo_conversation)
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    firsts = {
        window.conversation_id: window.window_id
        for window in load_trace(tmp_path).windows
        if window.window_id.endswith("-s01")
    }
    assert firsts == {
        "会话一": "locomo-x-8cfca12b-s01",
        "会话二": "locomo-x-369b3e05-s01",
        "26": "locomo-26-s01",
        "conv-26": "locomo-conv-26-s01",
    }


def test_long_names_that_are_cut_alike_have_windows_of_their_own(
    tmp_path: Path, locomo_conversation: Conversation
) -> None:
    names = ["c" * 40 + end for end in "ab"]
    windows = load(tmp_path, as_list(locomo_conversation, *names)).windows
    assert len({window.window_id for window in windows}) == 4
    assert all(window.window_id.startswith(f"locomo-{'c' * 40}-") for window in windows)


def test_one_sample_twice_is_refused(tmp_path: Path, locomo_conversation: Conversation) -> None:
    with pytest.raises(TraceError, match=r"locomo-conv-1-s01', also at .*\$\[0\]"):
        load(tmp_path, as_list(locomo_conversation, "conv-1", "conv-1"))


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("session_1", None, "$.session_1"),
        ("session_1", [{"speaker": "Ines", "dia_id": "D1:1"}], "$.session_1[0].text"),
        ("session_1", [{"speaker": "", "dia_id": "D", "text": "a"}], "$.session_1[0].speaker"),
        ("session_1", 2 * [{"speaker": "Ines", "dia_id": "D", "text": "a"}], "$.session_1"),
        ("session_1", [], "$.session_1"),
        ("session_1", ["\ud800"], "$.session_1[0]"),
        ("session_1_date_time", "soon", "$.session_1_date_time"),
        ("session_1_date_time", "8 May, 2023", "$.session_1_date_time"),
        ("session_1_date_time", "1:56 pm", "$.session_1_date_time"),
        ("session_1_date_time", "1:56 pm on 8 May, " + "9" * 400, "$.session_1_date_time"),
        ("session_1_date_time", 5, "$.session_1_date_time"),
        ("session_1_observation", [], "$.session_1_observation"),
        ("session_1_observation", {"Ines": [["", "D1:1"]]}, "_observation.Ines[0][0]"),
        ("session_1_observation", {"Ines": [[9, "D1:1"]]}, "_observation.Ines[0][0]"),
        ("session_1_observation", {"Ines": [["a"]]}, "_observation.Ines[0][1]"),
        ("session_1_observation", {"Ines": ["a"]}, "_observation.Ines[0]"),
        ("session_9_observation", {"Ines": [["a", "D9:1"]]}, "$.session_9"),
        ("sample_id", 4, "at $"),
    ],
)
def test_a_bad_session_is_refused_with_its_json_path(
    tmp_path: Path, locomo_conversation: Conversation, key: str, value: object, where: str
) -> None:
    locomo_conversation[key] = value
    with pytest.raises(TraceError) as caught:
        load(tmp_path, locomo_conversation)
    assert f"{where}: found" in str(caught.value)


def test_after_an_unreadable_session_the_earlier_messages_are_unknown(
    tmp_path: Path, locomo_conversation: Conversation
) -> None:
    locomo_conversation["session_2"] = "gone"
    trace = load(tmp_path, locomo_conversation, skip_bad_records=True)
    first, second = trace.windows
    assert first.earlier_messages == ()
    assert second.earlier_messages is None
    assert [skipped.kind for skipped in trace.import_report.skipped] == ["bad"]


def test_bad_observations_leave_the_conversation_known(
    tmp_path: Path, locomo_conversation: Conversation
) -> None:
    locomo_conversation["session_1_observation"] = {"Ines": [[""]]}
    (window,) = load(tmp_path, locomo_conversation, skip_bad_records=True).windows
    assert window.earlier_messages is not None
    assert len(window.earlier_messages) == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda sample: sample.update(conversation=[]),
        lambda sample: sample.update(observation=[]),
        lambda sample: sample.update(sample_id=" "),
        lambda sample: sample.pop("sample_id"),
    ],
)
def test_a_bad_sample_is_refused_with_its_index(
    tmp_path: Path,
    locomo_conversation: Conversation,
    change: Callable[[Conversation], object],
) -> None:
    samples = as_list(locomo_conversation, "conv-1", "conv-2")
    change(samples[1])
    with pytest.raises(TraceError, match=r"26\.json at \$\[1\]"):
        load(tmp_path, samples)


def test_a_sample_that_is_no_object_is_refused(
    tmp_path: Path, locomo_conversation: Conversation
) -> None:
    with pytest.raises(TraceError, match=r"\$\[1\]: found null"):
        load(tmp_path, [*as_list(locomo_conversation, "conv-1"), None])


def test_the_public_conversations_import_whole(tmp_path: Path) -> None:
    archive = SHARED / "data" / "locomo10.zip"
    if not archive.is_file():
        pytest.skip("the LoCoMo archive is not beside this checkout")
    import zipfile  # noqa: PLC0415  only where there is something to unpack

    with zipfile.ZipFile(archive) as zipped:
        for member in zipped.namelist():
            if member.endswith(".json"):
                (tmp_path / Path(member).name).write_bytes(zipped.read(member))
    report = load_trace(tmp_path / "26.json").import_report
    assert (report.windows, report.conclusions, report.skipped) == (19, 184, ())
    folder = load_trace(tmp_path)
    assert folder.import_report.windows == 272
    assert folder.import_report.conclusions == 2541
    assert all(message.sent_at for window in folder.windows for message in window.messages)
