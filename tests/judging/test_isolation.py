"""The isolation check: every kind of leak fires, and what the request says by right does not."""

from collections.abc import Callable

import pytest

from evals.errors import IsolationError
from evals.judging.isolation import ForbiddenText, Guard
from evals.judging.prompts import Prompt
from evals.judging.request import JudgeRequest
from evals.premise.render import (
    PremisePrompts,
    WindowTexts,
    load_premise_prompts,
    pass_1_guard,
    pass_1_request,
)
from tests.judging.blind import (
    LINES,
    LONG,
    OWN,
    SETTINGS,
    SIBLING,
    Params,
    blind,
    in_system,
    in_user,
    window_of,
)

Seed = Callable[[Params, str], None]


def inside_the_tag(params: Params, leak: str) -> None:
    user = params["messages"][0]["content"]
    params["messages"][0]["content"] = user.replace("'yes'", f"'yes' ({leak})")


def in_a_second_block(params: Params, leak: str) -> None:
    params["system"].append({"type": "text", "text": leak})


def in_a_second_message(params: Params, leak: str) -> None:
    params["messages"].append({"role": "user", "content": [{"type": "text", "text": leak}]})


def in_a_tool(params: Params, leak: str) -> None:
    params["tools"] = [{"name": "look", "description": f"Looks at {leak}", "input_schema": {}}]


def in_a_tools_keys(params: Params, leak: str) -> None:
    params["tools"] = [{"name": "look", "input_schema": {"properties": {leak: {}}}}]


def in_metadata(params: Params, leak: str) -> None:
    params["metadata"] = {"user_id": leak}


def in_the_schema(params: Params, leak: str) -> None:
    params["output_config"]["format"]["schema"]["description"] = leak


def in_stop_sequences(params: Params, leak: str) -> None:
    params["stop_sequences"] = ["\n\n", leak]


def in_the_model_id(params: Params, leak: str) -> None:
    params["model"] += f" {leak}"


def cut_over_two_blocks(params: Params, leak: str) -> None:
    middle = len(leak) // 2
    params["messages"].append({"role": "assistant", "content": leak[:middle]})
    params["messages"].append({"role": "user", "content": leak[middle:]})


def cut_around_what_belongs_there(params: Params, leak: str) -> None:
    middle = len(leak) // 2
    params["system"].insert(0, {"type": "text", "text": leak[:middle]})
    params["messages"].append({"role": "user", "content": leak[middle:]})


PLACES: list[Seed] = [
    in_system,
    in_user,
    inside_the_tag,
    in_a_second_block,
    in_a_second_message,
    in_a_tool,
    in_a_tools_keys,
    in_metadata,
    in_the_schema,
    in_stop_sequences,
    in_the_model_id,
    cut_over_two_blocks,
    cut_around_what_belongs_there,
]


@pytest.mark.parametrize("seed", PLACES)
@pytest.mark.parametrize(
    ("leak", "named"), [(LONG, "a window line"), (SIBLING, "a conclusion of the window")]
)
def test_a_leak_fires_wherever_it_stands_and_is_named(seed: Seed, leak: str, named: str) -> None:
    guard, params = blind()
    guard.check(params)
    seed(params, leak)
    with pytest.raises(IsolationError) as caught:
        guard.check(params)
    assert caught.value.where == "w1/000-c0"
    assert named in caught.value.found
    assert leak[:40] in caught.value.found


@pytest.mark.parametrize("line", ["yes", "a", "ok 👍", "はい"])
def test_a_short_line_fires_too(line: str) -> None:
    guard, params = blind("courtland lives in Lund", (line,), ())
    in_a_second_block(params, line)
    with pytest.raises(IsolationError):
        guard.check(params)


def test_a_line_that_the_conclusion_quotes_is_no_leak() -> None:
    guard, params = blind(OWN, ("yes",), ())
    guard.check(params)


def test_a_conclusion_that_quotes_a_whole_line_is_no_leak() -> None:
    guard, params = blind(f"courtland said: {LONG}", LINES, ())
    guard.check(params)


def test_a_quoted_line_that_stands_there_once_more_is_a_leak() -> None:
    guard, params = blind(OWN, ("yes",), ())
    in_user(params, "\nyes")
    with pytest.raises(IsolationError, match="a window line 'yes'"):
        guard.check(params)


def test_a_window_line_that_is_the_whole_conclusion_may_stand_once() -> None:
    guard, params = blind(LONG, LINES, ())
    guard.check(params)
    in_a_second_block(params, LONG)
    with pytest.raises(IsolationError):
        guard.check(params)


def test_an_equal_sibling_may_not_stand_beside_its_twin() -> None:
    guard, params = blind(OWN, (), (OWN,))
    guard.check(params)
    in_a_second_block(params, OWN)
    with pytest.raises(IsolationError, match="a conclusion of the window"):
        guard.check(params)


def test_a_sibling_that_the_conclusion_contains_is_no_leak() -> None:
    guard, params = blind(f"{SIBLING}, and he will not renew it", (), (SIBLING,))
    guard.check(params)


@pytest.mark.parametrize(
    "line",
    [
        "You are a blind reader.",
        "0.0 nothing.",
        "TIME",
        "<conclusion>",
        "string",
        "system",
        "judge-1",
    ],
)
def test_a_line_that_the_instructions_the_schema_or_the_api_hold_is_no_leak(line: str) -> None:
    guard, params = blind(OWN, (line,), ())
    guard.check(params)


def test_a_line_of_the_instructions_that_stands_there_once_more_is_a_leak() -> None:
    guard, params = blind(OWN, ("You are a blind reader.",), ())
    in_user(params, "\nyou are a BLIND reader.")
    with pytest.raises(IsolationError):
        guard.check(params)


def test_empty_lines_forbid_nothing() -> None:
    guard, params = blind(OWN, ("", "\n \n", "\N{ZERO WIDTH SPACE}"), ("",))
    guard.check(params)
    assert guard.forbidden.folded[-1][2] != ""


def test_a_request_as_it_should_be_costs_no_search() -> None:
    guard, params = blind()
    guard.check(params)
    assert "folded" not in vars(guard.forbidden)


def test_what_is_neither_instruction_nor_conclusion_is_a_leak_though_no_line_is_known() -> None:
    guard, params = blind(OWN, (LONG,), (SIBLING,))
    in_a_second_block(params, "Think twice.")
    with pytest.raises(IsolationError, match=r"'Think twice\.' in a blind request"):
        guard.check(params)


def test_the_guard_is_made_from_the_conclusion_and_not_from_the_request() -> None:
    prompts = load_premise_prompts()
    forbidden = WindowTexts(window_of(LINES, (OWN,))).forbidden
    guard = pass_1_guard("case", OWN, forbidden, SETTINGS, prompts)
    leaky = pass_1_request(f"{OWN} {LONG}", SETTINGS, prompts)
    with pytest.raises(IsolationError):
        guard.check(leaky.params)


def test_a_prompt_may_hold_the_line_but_not_take_it_from_the_window() -> None:
    prompts = load_premise_prompts()
    rewritten = Prompt(
        name="premise/pass_1",
        system=f"{prompts.pass_1.system}\nAn example: {LONG}",
        user_template=prompts.pass_1.user_template,
        prompt_hash="0" * 64,
    )
    other = PremisePrompts(rewritten, prompts.pass_2, prompts.minimality, prompts.pass_2)
    guard, params = blind(OWN, (LONG,), (), other)
    guard.check(params)
    in_user(params, LONG)
    with pytest.raises(IsolationError):
        guard.check(params)


def test_a_guard_without_anything_accounted_for_lets_no_line_through() -> None:
    forbidden = ForbiddenText((("a window line", LONG),))
    request = JudgeRequest(
        purpose="x",
        settings=SETTINGS,
        prompt=load_premise_prompts().pass_1,
        user=LONG,
        answer_schema={},
        max_tokens=1,
    )
    with pytest.raises(IsolationError):
        Guard("case", forbidden, ()).check(request.params)
