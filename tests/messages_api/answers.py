"""Valid answers to every prompt of the instruments, made of the user text alone.

The same text always gets the same answer, and another text often another one. They are no
judgements: what is checked with them is that nothing is lost, doubled or made up on the way.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Json = dict[str, Any]

_SEVERITIES = ("LOW", "MEDIUM", "HIGH")
_IMPORTANCES = ("CRITICAL", "IMPORTANT", "MINOR", "TRIVIAL")
_CATEGORIES = ("HOME", "PLAN", "HABIT")
_TOPICS = ("garden", "home", "work", "travel")


class BadRequestError(Exception):
    """The body is not one that the server can answer."""


def answer_to(body: Json) -> Json:
    """Return a valid answer, the same each time for the same body.

    Raises:
        BadRequestError: no prompt asks for such an answer, or the user text lacks a part.
    """
    return _STRATEGIES[asked_key(body)](body["messages"][0]["content"])


def asked_key(body: Json) -> str:
    """Return the key of the answer that tells which prompt it is: ``facts``, ``matches``, …

    Raises:
        BadRequestError: no prompt asks for such an answer.
    """
    asked = body["output_config"]["format"]["schema"]["properties"]
    for key in _STRATEGIES:
        if key in asked:
            return key
    raise BadRequestError(f"no answer to a schema with {sorted(asked)}")


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _between(user: str, tag: str) -> str:
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", user, re.DOTALL)
    if found is None:
        raise BadRequestError(f"no <{tag}> in the user text")
    return found[1]


def _lines(user: str, tag: str) -> list[Any]:
    return [json.loads(line) for line in _between(user, tag).split("\n") if line]


# The premise judge.


def _pass_1(user: str) -> Json:
    conclusion = json.loads(_between(user, "conclusion"))
    choice = _digest(conclusion) % 8
    slots = [{"slot": "TIME", "why": "no date"}] if choice in {1, 2} else []
    slots += [{"slot": "OBJECT_OR_CONTENT", "why": "what?"}] if choice in {2, 3} else []
    return {
        "reconstruction": conclusion,
        "unknown_slots": slots,
        "licensed_inference": "NONE" if choice in {3, 4} else "The peer can be asked about it.",
        "force": "stated as fact",
        "decontextuality": [0.9, 0.7, 0.4, 0.3, 0.8, 1.0, 0.95, 0.85][choice],
        "bundled": choice == 5,
        "labels": ["missing object"] if choice in {2, 3} else [],
    }


def _pass_2(user: str) -> Json:
    blind = json.loads(_between(user, "blind_reader_analysis"))
    choice = _digest(_between(user, "conclusion")) % 7
    places = ("PRESENT_IN_WINDOW", "ABSENT_FROM_WINDOW", "ABSENT_EVERYWHERE")
    kinds = {2: "FABRICATION", 3: "OVER_INFERENCE"}
    unsupported = [
        {"element": "it", "kind": kind, "why": "not said"}
        for number, kind in kinds.items()
        if number == choice
    ]
    open_slots = [slot["slot"] for slot in blind["unknown_slots"]]
    return {
        "license_check": "names its subject, who says it",
        "interpretation": "MISMATCH" if choice == 1 else "MATCH",
        "unsupported_elements": unsupported,
        "force_preserved": choice != 4,
        "time_status": "UNANCHORED" if "TIME" in open_slots else "SELF_ANCHORING",
        "missing": [
            {"slot": slot, "attribution": places[choice % 3], "evidence": ""} for slot in open_slots
        ],
        "labels": [],
    }


def _minimality(user: str) -> Json:
    return {
        "items": [
            {
                "conclusion_id": line["conclusion_id"],
                "claims": [line["text"]] * (1 + _digest(line["text"]) % 2),
                "padding": [],
                "minimality": 1.0 - 0.5 * (_digest(line["text"]) % 2),
            }
            for line in _lines(user, "conclusions")
        ]
    }


def _attribution(user: str) -> Json:
    slots = [line["slot"] for line in _lines(user, "open_slots")]
    return {
        "slots": [
            {"slot": slot, "said_earlier": bool(_digest(user + slot) % 2), "evidence": ""}
            for slot in slots
        ]
    }


# The set-level bench.


def _set_issues(user: str) -> Json:
    conclusions = _lines(user, "conclusions")
    choice = _digest(user) % 4
    peer = conclusions[0]["peer"]
    first_peer = [one["conclusion_id"] for one in conclusions if one["peer"] == peer]
    size = 2 + choice % 3  # of a group; as many as there are, if there are fewer
    issues = []
    if choice != 0 and len(first_peer) > 1:
        group = first_peer[:size]
        severity = _SEVERITIES[min(len(group), 4) - 2]
        issues.append(_issue("REDUNDANCY", severity, group, f"one fact; keep {group[0]}"))
    if choice > 1:
        pair = [one["conclusion_id"] for one in conclusions[-2:]]
        issues.append(_issue("TEMPORAL_CONFUSION", "MEDIUM", pair, "at two places at once"))
    return {"set_issues": issues}


def _issue(kind: str, severity: str, conclusion_ids: Sequence[str], evidence: str) -> Json:
    return {
        "kind": kind,
        "severity": severity,
        "conclusion_ids": list(conclusion_ids),
        "evidence": evidence,
    }


# The coverage bench.


def _gold(user: str) -> Json:
    """Facts of every importance for each message of a peer, and one that the harness drops."""
    facts = [
        _fact(user, message, part)
        for message in _messages_of_peers(user)
        for part in range(len(_IMPORTANCES))
    ]
    most = json.loads(_between(user, "most_facts"))
    flaw: Json = (
        {},
        {"source_span": "words that nobody wrote"},
        {"licensed_inference": "NONE"},
        {"fact": "It was dug over three weeks ago."},
        {"peer_id": "somebody else"},
    )[_digest(user) % 5]
    spoilt = [facts[0] | flaw] if facts and flaw else []
    return {"facts": (spoilt + facts)[:most]}


def _fact(user: str, message: Json, part: int) -> Json:
    choice = _digest(f"{user}{message['id']}{part}")
    words = message["text"].split()
    span = " ".join(words[part % len(words) :])
    day = "at an unknown time" if message["at"] is None else f"on {message['at'][:10]}"
    return {
        "peer_id": message["peer"],
        "fact": f"{message['peer']} said {day}: \N{LEFT DOUBLE QUOTATION MARK}{span}"
        "\N{RIGHT DOUBLE QUOTATION MARK}",
        "category": _CATEGORIES[choice % len(_CATEGORIES)],
        "importance": _IMPORTANCES[part],
        "requires_inference": choice % 4 == 0,
        "source_span": span,
        "licensed_inference": f"Whoever meets {message['peer']} can ask about it.",
    }


def _matching(user: str) -> Json:
    known = [line["conclusion_id"] for line in _lines(user, "conclusions")]
    return {"matches": [_match(user, line, known) for line in _lines(user, "gold_facts")]}


def _match(user: str, fact: Json, known: Sequence[str]) -> Json:
    choice = _digest(f"{user}{fact['gold_id']}")
    status = ("COVERED", "COVERED", "PARTIAL", "MISSING")[choice % 4]
    first = choice // 4 % len(known)
    covering = [] if status == "MISSING" else known[first : first + 1 + choice // 64 % 2]
    return {"gold_id": fact["gold_id"], "status": status, "covering": covering, "why": "so it says"}


def _questions(user: str) -> Json:
    """One question a long word; which one it is, the question does not say."""
    most = json.loads(_between(user, "most_questions"))
    asked = [
        {
            "question": f"Which word, number {number} by length, is in {message['id']}?",
            "gold_answer": word,
            "source_span": word,
        }
        for message in _messages_of_peers(user)
        for number, word in enumerate(_long_words(message["text"]), 1)
        if word.casefold() not in f"which word number by length is in {message['id']}".casefold()
    ]
    return {"questions": asked[: 1 + _digest(user) % most]}


def _answering(user: str) -> Json:
    """Nothing, the word at the same place in a note, or another word of it."""
    note = _lines(user, "notes")[0]
    choice = _digest(user) % 4
    words = _long_words(note["text"])
    if choice == 0 or not words:
        return {"answer": "UNANSWERABLE", "conclusion_ids": []}
    number = re.search(r"number (\d+)", json.loads(_between(user, "question")))
    at = 0 if number is None or choice == 1 else int(number[1]) - 1
    return {"answer": words[at % len(words)], "conclusion_ids": [note["id"]]}


def _comparison(user: str) -> Json:
    return {
        "comparisons": [
            {
                "question_id": line["question_id"],
                "same": _digest(json.dumps(line)) % 3 == 0,
                "why": "by its words",
            }
            for line in _lines(user, "answers")
        ]
    }


def _topics(user: str) -> Json:
    return {
        "topics": [
            {
                "item_id": line["item_id"],
                "topic": _TOPICS[_digest(line["text"]) % len(_TOPICS)],
            }
            for line in _lines(user, "statements")
        ]
    }


def _messages_of_peers(user: str) -> Iterator[Json]:
    """Yield the messages with a word in them that a peer wrote, one by one."""
    peers = _peers(user)
    for message in _lines(user, "window"):
        if message["peer"] in peers and message["text"].split():
            yield message


def _peers(user: str) -> set[str]:
    """Return who is asked about: one JSON string a line, or one JSON array."""
    found = _lines(user, "peers")
    return {peer for line in found for peer in (line if isinstance(line, list) else [line])}


def _long_words(text: str) -> list[str]:
    """Return the words of four letters and more, each once, longest first."""
    words = dict.fromkeys(re.findall(r"[^\W\d_]{4,}", text))
    return sorted(words, key=len, reverse=True)


_STRATEGIES: dict[str, Callable[[str], Json]] = {
    "reconstruction": _pass_1,
    "interpretation": _pass_2,
    "items": _minimality,
    "slots": _attribution,
    "set_issues": _set_issues,
    "facts": _gold,
    "matches": _matching,
    "questions": _questions,
    "answer": _answering,
    "comparisons": _comparison,
    "topics": _topics,
}
"""A key of the answer's schema, which one prompt alone asks for -> how it is answered."""
ANSWER_KEYS = frozenset(_STRATEGIES)
"""Every key that ``asked_key`` can return."""
