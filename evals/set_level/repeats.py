"""Exact and near-exact repeats in a batch, found without a judge: a check on the judge.

It knows words and no meaning. So it is strict, and leaves restatements in other words to the judge.
It still errs: a question reads as its statement, and two names of seven letters or more with one
letter between them (Kristina, Kristiana) as one name misspelt.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from evals.records import Conclusion
from evals.set_level.groups import merged

SPELLING_SIMILARITY = 0.85
"""Least similarity of two spellings of one word: 1 - edits / letters of the longer (optimal string
alignment: a letter missing, added, changed, or two swapped). It allows one edit from seven letters
on. Shorter words have real words for neighbours (cat and coat, Tom and Tim, two and ten)."""

Words = tuple[str, ...]

_ARTICLES = frozenset(["a", "an", "the"])
_APOSTROPHES = frozenset("'\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}")
_TELLING_MARKS = frozenset("#%&@")
"""Punctuation to Unicode, and yet C and C# or 5 and 5 % are not the same."""
_MINUS = re.compile(r"(?<!\w)-(?=\d)")


def string_repeats(conclusions: Sequence[Conclusion]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of conclusions about one peer that repeat each other word by word.

    Two texts repeat each other if they have the same words in the same order after case, white
    space, punctuation, Unicode forms and English articles are levelled; a word may be spelt in two
    ways (``SPELLING_SIMILARITY``) if its first and last letter agree, as they do in most slips,
    and do not where a prefix, plural or tense makes another word. Numbers and scripts without case
    must agree exactly. Groups are the connected components of that.

    A long name one letter from another still passes for a slip, and a slip in a short word for
    another word.

    Returns:
        Conclusion ids, two or more a group, in the order of ``conclusions``.
    """
    by_text: dict[tuple[str, Words], list[str]] = {}
    for item in conclusions:
        by_text.setdefault((item.peer_id, words_of(item.text)), []).append(item.conclusion_id)
    # Only texts whose words begin and end alike can be near-exact repeats: few meet, so that the
    # comparison of all with all stays inside small groups.
    alike: dict[tuple[str, Words], list[Words]] = {}
    for peer, words in by_text:
        alike.setdefault((peer, tuple(map(_outline, words))), []).append(words)
    links = [
        [by_text[peer, one][0], by_text[peer, other][0]]
        for (peer, _), texts in alike.items()
        for one, other in _respelt(texts)
    ]
    order = [item.conclusion_id for item in conclusions]
    groups = merged([*by_text.values(), *links], order)
    return tuple(group for group in groups if len(group) > 1)


def words_of(text: str) -> Words:
    """Return the words of a text, levelled; never empty.

    Articles count where there is nothing else, and so does punctuation.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    signed = _MINUS.sub("\N{MINUS SIGN}", folded)
    words = "".join(map(_levelled, signed)).split()
    telling = [word for word in words if word not in _ARTICLES]
    return tuple(telling or words or [folded.strip()])


def _levelled(char: str) -> str:
    category = unicodedata.category(char)
    if char.isspace():
        return " "
    # Controls and invisible characters, variation selectors.
    if category in {"Cc", "Cf"} or "\ufe00" <= char <= "\ufe0f" or char in _APOSTROPHES:
        return ""
    return " " if category.startswith("P") and char not in _TELLING_MARKS else char


def _outline(word: str) -> str:
    # Of a word that may be misspelt, what a slip leaves as it is; no word can hold a full stop.
    return f"{word[0]}.{word[-1]}" if _is_cased(word) else word


def _is_cased(word: str) -> bool:
    return word != "" and all(unicodedata.category(char) == "Ll" for char in word)


def _respelt(texts: Sequence[Words]) -> Iterator[tuple[Words, Words]]:
    """Yield the pairs, among texts of the same outline, that differ in spelling alone."""
    if len(texts) < 2:  # noqa: PLR2004  nothing to compare
        return
    # Texts whose words are all this similar are as wholes, so this loses no pair.
    lines = [" ".join(words) for words in texts]
    near = cdist(
        lines, lines, scorer=OSA.normalized_similarity, score_cutoff=SPELLING_SIMILARITY - 1e-6
    )
    for first, second in zip(*near.nonzero(), strict=True):
        if first < second and _same_words(zip(texts[first], texts[second], strict=True)):
            yield texts[first], texts[second]


def _same_words(pairs: Iterable[tuple[str, str]]) -> bool:
    return all(
        one == other or OSA.normalized_similarity(one, other) >= SPELLING_SIMILARITY
        for one, other in pairs
    )
