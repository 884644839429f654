"""Lines of the terminal: named figures, wrapped sentences, short tables; none over the width."""

import textwrap
from collections.abc import Mapping

from evals.report import numbers
from evals.report.text import columns, cut
from evals.untrusted import for_terminal

TOP = 5
"""Labels, topics and failed conditions shown; the report has them all."""
_NAME_COLUMNS = 17


def named(name: str, text: str, width: int) -> str:
    """Return a figure on one line, cut where it is too long."""
    return line(f"{name:<{_NAME_COLUMNS}} ", text, width)


def line(start: str, text: str, width: int) -> str:
    """Return ``start``, which is ours and keeps its spacing, and as much of ``text`` as fits."""
    return start + cut(text, width - columns(start))


def named_whole(name: str, text: str, width: int) -> list[str]:
    """Return a figure on as many lines as it takes, broken at commas where they allow it."""
    room = width - _NAME_COLUMNS - 1
    lines: list[str] = []
    for part in text.split(", "):
        if lines and columns(f"{lines[-1]}, {part},") <= room:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    broken = [f"{one}," for one in lines[:-1]] + lines[-1:]
    first, *rest = [short for one in broken for short in wrapped(one, room)]
    indent = " " * (_NAME_COLUMNS + 1)
    return [named(name, first, width), *(indent + more for more in rest)]


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Return a sentence on as many lines as it takes; none where it says nothing."""
    safe = for_terminal(text, limit=len(text) + 1)
    parts = textwrap.wrap(safe, width, initial_indent=indent, subsequent_indent=indent)
    # Wrapping counts characters, so a line of wide ones can still be too wide.
    return [indent + cut(part.removeprefix(indent), width - len(indent)) for part in parts]


def counts_lines(title: str, counts: Mapping[str, int], width: int) -> list[str]:
    """Return the largest counts below a title; nothing where there are none."""
    if not counts:
        return []
    shown = list(counts.items())[:TOP]
    lines = ["", title]
    lines += [line(f"  {numbers.count(number):>6}  ", name, width) for name, number in shown]
    if len(counts) > TOP:
        lines.append(f"          and {numbers.count(len(counts) - TOP)} more, in the report")
    return lines
