"""The requests of the premise judge: what each prompt is given, and nothing else (1.1, 1.2).

Everything that strangers wrote goes in as JSON between tags (``evals.untrusted.for_prompt``), so
that no text can close its tag or pose as another message.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from evals.judging.isolation import ForbiddenText, Guard, strings_of
from evals.judging.prompts import PROMPTS_DIR, Prompt, load_prompt
from evals.judging.request import JudgeRequest, JudgeSettings
from evals.judging.request_text import REQUEST_LIMIT_CHARS, check_length, user_text
from evals.judging.response import schema_of
from evals.judging.window_text import forbidden_text, json_lines, message_lines
from evals.premise.schema import AttributionAnswer, MinimalityAnswer, Pass1, Pass2
from evals.records import Conclusion, Message, Window
from evals.untrusted import for_prompt, json_for_prompt

PASS_1_PURPOSE = "premise.pass_1"  # noqa: S105  a prompt's name, no password
PASS_2_PURPOSE = "premise.pass_2"  # noqa: S105  a prompt's name, no password
MINIMALITY_PURPOSE = "premise.minimality"
ATTRIBUTION_PURPOSE = "premise.attribution_search"
PURPOSES = (PASS_1_PURPOSE, PASS_2_PURPOSE, MINIMALITY_PURPOSE, ATTRIBUTION_PURPOSE)
"""In the order in which a row lists its calls."""

# Token limits bound what a runaway answer can cost and else decide nothing: each is several times
# the longest answer that is wanted. Those of pass 1 and pass 2 are fixed; that of minimality grows
# with its batch, to at most 12,500; that of the attribution search grows with the open slots of one
# conclusion and has no upper end. Thinking comes on top of each.
PASS_1_MAX_TOKENS = 4_000
"""A usual answer has 300; the reconstruction repeats the conclusion, which can be long."""
PASS_2_MAX_TOKENS = 6_000
"""A usual answer has 500; the evidence quotes messages."""
ANSWER_FRAME_TOKENS = 500
"""What surrounds the items in an answer that lists them."""
MINIMALITY_TOKENS_PER_CONCLUSION = 200
"""An id, the claims in a few words each, the padding: some 80 in a usual answer."""
MINIMALITY_BATCH = 60
"""Most conclusions in one minimality request. A window of up to 60 takes one call; one of 61 takes
two, and so on: for very full windows alone this is not one call a window. The whole answer has to
come within the deadline of one attempt (``--call-timeout-s``, 120 s unless set): 60 conclusions at
some 80 tokens each are 4,800, which a judge that writes 40 tokens a second just gives in that time.
"""
MINIMALITY_BATCH_CHARS = REQUEST_LIMIT_CHARS - 10_000
"""Of those conclusions as they are sent; the rest is for the instructions. A conclusion that alone
is longer has a request of its own, which is refused, and spoils no other's."""
ATTRIBUTION_TOKENS_PER_SLOT = 500
"""The earlier words that settle a slot, quoted."""
THINKING_TOKENS = 8_000
"""Added where the judge reasons: thinking counts against the same limit."""

_PASS_1_SCHEMA = schema_of(Pass1)
_PASS_2_SCHEMA = schema_of(Pass2)
_MINIMALITY_SCHEMA = schema_of(MinimalityAnswer)
_ATTRIBUTION_SCHEMA = schema_of(AttributionAnswer)
_PASS_1_SCHEMA_STRINGS = tuple(strings_of(_PASS_1_SCHEMA))


@dataclass(frozen=True)
class PremisePrompts:
    """The four prompts of the premise judge, read once a run."""

    pass_1: Prompt
    pass_2: Prompt
    minimality: Prompt
    attribution_search: Prompt

    def hashes(self) -> dict[str, str]:
        """Return prompt name -> hash, for provenance (4.2)."""
        prompts = (self.pass_1, self.pass_2, self.minimality, self.attribution_search)
        return {prompt.name: prompt.prompt_hash for prompt in prompts}


def load_premise_prompts() -> PremisePrompts:
    """Read the four prompts from ``prompts/premise/``.

    Raises:
        PromptError: a file is missing or is not UTF-8.
    """
    return PremisePrompts(
        pass_1=load_prompt("premise/pass_1", PROMPTS_DIR),
        pass_2=load_prompt("premise/pass_2", PROMPTS_DIR),
        minimality=load_prompt("premise/minimality", PROMPTS_DIR),
        attribution_search=load_prompt("premise/attribution_search", PROMPTS_DIR),
    )


@dataclass(frozen=True, eq=False)
class WindowTexts:
    """What the requests about one window share: made once, when first needed."""

    window: Window

    @cached_property
    def forbidden(self) -> ForbiddenText:
        """What no blind request about this window may hold: ``forbidden_text(window)``."""
        return forbidden_text(self.window)

    @cached_property
    def window_lines(self) -> str:
        """The messages for pass 2: ``message_lines(window.messages)``."""
        return message_lines(self.window.messages)

    def minimality_batch(self, conclusion: Conclusion) -> tuple[Conclusion, ...]:
        """Return the conclusions that are asked about together with this one, it included."""
        return self._batches[conclusion.conclusion_id]

    @cached_property
    def _batches(self) -> dict[str, tuple[Conclusion, ...]]:
        batches: list[list[Conclusion]] = []
        chars = 0
        for item in self.window.conclusions:
            line_chars = len(_claim_line(item)) + 1
            chars += line_chars
            last = batches[-1] if batches else None
            if last is None or len(last) == MINIMALITY_BATCH or chars > MINIMALITY_BATCH_CHARS:
                batches.append([item])
                chars = line_chars
            else:
                last.append(item)
        return {item.conclusion_id: tuple(batch) for batch in batches for item in batch}


def pass_1_request(
    conclusion: str, settings: JudgeSettings, prompts: PremisePrompts
) -> JudgeRequest:
    """Return the blind request (1.1): takes the text alone, so a leak needs another signature.

    Not yet guarded: see ``pass_1_guard`` and ``guarded``.

    Raises:
        TooLargeError: see ``user_text``.
    """
    values = {"conclusion": for_prompt(conclusion)}
    return JudgeRequest(
        purpose=PASS_1_PURPOSE,
        settings=settings,
        prompt=prompts.pass_1,
        user=user_text(PASS_1_PURPOSE, prompts.pass_1, values, "1 conclusion"),
        answer_schema=_PASS_1_SCHEMA,
        max_tokens=_limit(PASS_1_MAX_TOKENS, settings),
    )


def pass_1_guard(
    where: str,
    conclusion: str,
    forbidden: ForbiddenText,
    settings: JudgeSettings,
    prompts: PremisePrompts,
) -> Guard:
    """Return the isolation check of a blind request, made from all but the request itself.

    Args:
        where: the case, for the message.
        conclusion: the text that the request is about.
        forbidden: what it may not hold beside that text.
        settings: as for the request; the model id is part of what is sent.
        prompts: as for the request.
    """
    user = prompts.pass_1.render({"conclusion": for_prompt(conclusion)})
    accounted = (settings.model, prompts.pass_1.system, user, *_PASS_1_SCHEMA_STRINGS)
    return Guard(where=where, forbidden=forbidden, accounted=accounted)


def guarded(request: JudgeRequest, guard: Guard) -> JudgeRequest:
    """Return the same request, to be checked by ``guard`` before it is looked up or sent."""
    return replace(request, guard=guard)


def pass_2_request(
    conclusion: Conclusion,
    pass_1_text: str,
    texts: WindowTexts,
    settings: JudgeSettings,
    prompts: PremisePrompts,
) -> JudgeRequest:
    """Return the sighted request (1.2).

    Args:
        conclusion: what was minted, and about whom.
        pass_1_text: pass 1's answer, verbatim. It is a JSON object and stays the same one: only
            what could close its tag is written as an escape.
        texts: the window it was minted from.
        settings: the run's.
        prompts: the run's.

    Raises:
        TooLargeError: see ``user_text``.
    """
    values = {
        "peer_id": for_prompt(conclusion.peer_id),
        "conclusion": for_prompt(conclusion.text),
        "pass_1_json": json_for_prompt(pass_1_text),
        "window": texts.window_lines,
    }
    holds = f"1 conclusion, {len(texts.window.messages):,} messages"
    return JudgeRequest(
        purpose=PASS_2_PURPOSE,
        settings=settings,
        prompt=prompts.pass_2,
        user=user_text(PASS_2_PURPOSE, prompts.pass_2, values, holds),
        answer_schema=_PASS_2_SCHEMA,
        max_tokens=_limit(PASS_2_MAX_TOKENS, settings),
    )


def minimality_request(
    conclusions: Sequence[Conclusion], settings: JudgeSettings, prompts: PremisePrompts
) -> JudgeRequest:
    """Return the request for the minimality of conclusions of one window, without the window.

    Raises:
        TooLargeError: see ``user_text``.
    """
    values = {"conclusions": "\n".join(map(_claim_line, conclusions))}
    holds = f"{len(conclusions):,} conclusions"
    wanted = ANSWER_FRAME_TOKENS + MINIMALITY_TOKENS_PER_CONCLUSION * len(conclusions)
    return JudgeRequest(
        purpose=MINIMALITY_PURPOSE,
        settings=settings,
        prompt=prompts.minimality,
        user=user_text(MINIMALITY_PURPOSE, prompts.minimality, values, holds),
        answer_schema=_MINIMALITY_SCHEMA,
        max_tokens=_limit(wanted, settings),
    )


@dataclass(frozen=True)
class OpenSlot:
    """A slot that the window leaves open, as the attribution search is told of it."""

    slot: str
    why: str
    """What is open about it, in the judge's words: a bare name like TIME does not say."""


def attribution_search_request(
    conclusion: Conclusion,
    slots: Sequence[OpenSlot],
    earlier: Sequence[Message],
    settings: JudgeSettings,
    prompts: PremisePrompts,
) -> JudgeRequest:
    """Return the request that looks for open slots in the conversation before the window (1.4).

    Raises:
        TooLargeError: see ``user_text``.
    """
    holds = f"{len(slots):,} slots, {len(earlier):,} earlier messages"
    # Before it is written out, and that for each conclusion anew: it can be a year of chat.
    check_length(ATTRIBUTION_PURPOSE, sum(len(item.text) for item in earlier), holds)
    values = {
        "peer_id": for_prompt(conclusion.peer_id),
        "conclusion": for_prompt(conclusion.text),
        "slots": json_lines({"slot": item.slot, "why": item.why} for item in slots),
        "earlier": message_lines(earlier),
    }
    wanted = ANSWER_FRAME_TOKENS + ATTRIBUTION_TOKENS_PER_SLOT * len(slots)
    return JudgeRequest(
        purpose=ATTRIBUTION_PURPOSE,
        settings=settings,
        prompt=prompts.attribution_search,
        user=user_text(ATTRIBUTION_PURPOSE, prompts.attribution_search, values, holds),
        answer_schema=_ATTRIBUTION_SCHEMA,
        max_tokens=_limit(wanted, settings),
    )


def _claim_line(conclusion: Conclusion) -> str:
    return for_prompt({"conclusion_id": conclusion.conclusion_id, "text": conclusion.text})


def _limit(answer_tokens: int, settings: JudgeSettings) -> int:
    return answer_tokens + (THINKING_TOKENS if settings.reasoning == "adaptive" else 0)
