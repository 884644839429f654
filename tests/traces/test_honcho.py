import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evals.errors import TraceError
from evals.records import conclusion_id_of, window_text_hash_of
from evals.traces import Trace, load_trace

SHARED = Path(__file__).parents[2].parent / "shared"
EXAMPLE = SHARED / "data" / "honcho-reasoning-traces.example.jsonl"

CallMaker = Callable[..., dict[str, Any]]
Writer = Callable[..., Path]


def output(content: object, finish: str = "stop") -> dict[str, Any]:
    return {"content": content, "finish_reasons": [finish]}


def test_a_call_becomes_an_exact_window(honcho_call: CallMaker, write_lines: Writer) -> None:
    trace = load_trace(write_lines(honcho_call()))
    (window,) = trace.windows
    assert trace.import_report.trace_format == "honcho"
    assert not window.window_reconstructed
    assert window.dataset_shape == "production"
    assert (window.peer_id, window.conversation_id, window.earlier_messages) == ("mara", None, None)
    assert [message.text for message in window.messages] == [
        "Do you want tea?",
        "yes\nplease, green",
        "will do",
    ]
    assert window.window_text_hash == window_text_hash_of(window.messages)
    (conclusion,) = window.conclusions
    assert conclusion.text == "mara drinks green tea"
    assert conclusion.conclusion_id == conclusion_id_of(window.window_id, 0, conclusion.text)
    assert conclusion.deriver_model_id == "small-1"
    assert conclusion.derived_at == datetime(2026, 6, 4, 12, 0, 1, 210000, tzinfo=UTC)
    assert conclusion.deriver_prompt_hash is not None


def test_window_ids_are_ascii_stable_and_unique(
    honcho_call: CallMaker, honcho_prompt: Callable[..., str], write_lines: Writer
) -> None:
    calls = [
        honcho_call(input={"prompt": honcho_prompt(peer=peer)}) for peer in ("Zoë B", "梅", "梅")
    ]
    first = [window.window_id for window in load_trace(write_lines(*calls)).windows]
    again = [window.window_id for window in load_trace(write_lines(*calls)).windows]
    assert first == again
    assert len(set(first)) == 3
    assert first[0].startswith("w0001-Zoe-B-")
    assert all(window_id.isascii() for window_id in first)


def test_content_may_be_json_text(honcho_call: CallMaker, write_lines: Writer) -> None:
    text = json.dumps({"explicit": [{"content": "a"}, {"content": "b"}]})
    (window,) = load_trace(write_lines(honcho_call(output=output(text)))).windows
    assert [conclusion.text for conclusion in window.conclusions] == ["a", "b"]


@pytest.mark.parametrize("explicit", [None, []])
def test_no_conclusions_is_an_empty_window(
    honcho_call: CallMaker, write_lines: Writer, explicit: object
) -> None:
    trace = load_trace(write_lines(honcho_call(output=output({"explicit": explicit}))))
    assert [window.conclusions for window in trace.windows] == [()]
    assert trace.import_report.skipped == ()


@pytest.mark.parametrize("content", ["prompt text", [{"type": "text", "text": "prompt text"}]])
def test_the_prompt_may_stand_among_messages(
    honcho_call: CallMaker,
    honcho_prompt: Callable[..., str],
    write_lines: Writer,
    content: object,
) -> None:
    filled = json.loads(
        json.dumps(content).replace("prompt text", json.dumps(honcho_prompt())[1:-1])
    )
    messages = [{"role": "system", "content": None}, {"role": "user", "content": filled}]
    (window,) = load_trace(write_lines(honcho_call(input={"messages": messages}))).windows
    assert window.peer_id == "mara"
    assert len(window.messages) == 3


@pytest.mark.parametrize("task", ["dialectic_chat", None])
def test_other_calls_are_reported(
    honcho_call: CallMaker, write_lines: Writer, task: str | None
) -> None:
    other = honcho_call(task_type=task, input={"messages": []}, output={"content": "Hi."})
    report = load_trace(write_lines(other, honcho_call())).import_report
    assert (report.records_read, report.windows, report.conclusions) == (2, 1, 1)
    (skipped,) = report.skipped
    assert skipped.kind == "other_call"
    assert skipped.where.endswith("trace.jsonl:1")
    assert (task or "null") in skipped.why


def test_a_call_without_a_task_type_is_another_call(
    honcho_call: CallMaker, write_lines: Writer
) -> None:
    other = honcho_call()
    del other["task_type"]
    trace = load_trace(write_lines(other))
    assert trace.windows == ()
    assert [skipped.kind for skipped in trace.import_report.skipped] == ["other_call"]


@pytest.mark.parametrize(
    ("content", "finish"),
    [
        ('{"explicit": [{"content": "a"}, {"cont', "length"),
        ("", "max_tokens"),
        (None, "FinishReason.MAX_TOKENS"),
        ({"explicit": []}, "length"),
    ],
)
def test_a_cut_off_answer_is_reported_and_not_repaired(
    honcho_call: CallMaker, write_lines: Writer, content: object, finish: str
) -> None:
    trace = load_trace(write_lines(honcho_call(output=output(content, finish)), honcho_call()))
    assert len(trace.windows) == 1
    (skipped,) = trace.import_report.skipped
    assert (skipped.kind, skipped.where[-2:]) == ("truncated", ":1")


def test_a_cut_off_answer_that_can_be_read_is_taken(
    honcho_call: CallMaker, write_lines: Writer
) -> None:
    cut = honcho_call(output=output({"explicit": [{"content": "a"}]}, "length"))
    assert load_trace(write_lines(cut)).import_report.conclusions == 1


@pytest.mark.parametrize(
    ("changes", "where", "complaint"),
    [
        ({"output": output({"explicit": [{"content": " \n"}]})}, ".explicit[0].content", "blank"),
        ({"output": output({"explicit": [{"content": 7}]})}, ".explicit[0].content", "found 7"),
        (
            {"output": output({"explicit": ["text"]})},
            "$.output.content.explicit[0]",
            "found 'text'",
        ),
        ({"output": output({"explicit": [{}]})}, ".explicit[0].content", "found nothing"),
        ({"output": output({})}, "$.output.content.explicit", "found nothing"),
        ({"output": output({"explicit": [], "deductive": []})}, ".content.deductive", "this key"),
        ({"output": output("Sure! Here")}, "$.output.content", "Expecting value"),
        ({"output": output("[]")}, "$.output.content", "array"),
        ({"output": output(None)}, "$.output.content", "null"),
        ({"output": {}}, "$.output.content", "found nothing"),
        ({"output": output("[" * 100_000)}, "$.output.content", "nested too deeply"),
        ({"output": output({"explicit": [{"content": "\ud83d"}]})}, "[0].content", "surrogate"),
        ({"timestamp": 10**30}, "$.timestamp", "seconds since 1970"),
        ({"timestamp": 10**400}, "$.timestamp", "number"),
        ({"timestamp": 1780574401210}, "$.timestamp", "milliseconds"),
        ({"timestamp": "2026-06-04"}, "$.timestamp", "number"),
        ({"timestamp": True}, "$.timestamp", "number"),
        ({"model": ""}, "$.model", "blank"),
        ({"model": None}, "$.model", "null"),
        ({"task_type": 3}, "$.task_type", "found 3"),
        ({"input": {}}, "trace.jsonl:1", "Target peer"),
        ({"input": {"prompt": "Hi."}}, "trace.jsonl:1", "Target peer"),
        ({"input": {"prompt": "\udc00"}}, "$.input.prompt", "surrogate"),
        ({"input": {"messages": [{"role": "user"}]}}, "$.input.messages[0].content", "nothing"),
    ],
)
def test_a_bad_record_is_refused_with_its_place(
    honcho_call: CallMaker,
    write_lines: Writer,
    changes: dict[str, Any],
    where: str,
    complaint: str,
) -> None:
    with pytest.raises(TraceError) as caught:
        load_trace(write_lines(honcho_call(**changes)))
    assert "trace.jsonl:1" in caught.value.where
    assert where in caught.value.where
    assert complaint in str(caught.value)


def test_an_empty_window_text_is_refused(
    honcho_call: CallMaker, honcho_prompt: Callable[..., str], write_lines: Writer
) -> None:
    with pytest.raises(TraceError, match="starts with ''"):
        load_trace(write_lines(honcho_call(input={"prompt": honcho_prompt(window="")})))


def test_a_line_that_is_no_call_is_bad_and_not_silently_another_call(
    honcho_call: CallMaker, write_lines: Writer
) -> None:
    with pytest.raises(TraceError, match=r"trace\.jsonl:2: found an object with the keys note"):
        load_trace(write_lines(honcho_call(), {"note": 1}))


@pytest.fixture
def example() -> Trace:
    if not EXAMPLE.is_file():
        pytest.skip("the public example trace is not beside this checkout")
    return load_trace(EXAMPLE)


def test_the_public_example_imports_whole(example: Trace) -> None:
    assert [len(window.conclusions) for window in example.windows] == [2, 1, 1, 0]
    assert [len(window.messages) for window in example.windows] == [3, 2, 2, 1]
    skipped = example.import_report.skipped
    assert [(record.kind, record.where[-2:]) for record in skipped] == [
        ("other_call", ":3"),
        ("truncated", ":4"),
    ]
    hashes = {item.deriver_prompt_hash for window in example.windows for item in window.conclusions}
    assert len(hashes) == 1
