"""Gates: conditions on a run's metrics that set the exit code (design section 6)."""

import difflib
import operator
import re
from collections.abc import Callable, Iterable

from evals.errors import ConfigError
from evals.records import Record
from evals.runs.summary import METRIC_KINDS, Metric, RunSummary, gateable_metrics, metric_of
from evals.untrusted import for_terminal

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_FORM = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*([<>=!~]++)\s*(\S.*)")
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)", re.ASCII)
_EXAMPLE = "'pass_rate >= 0.8'"


class Gate(Record):
    """One condition that a run's metrics must meet."""

    metric: str
    """A name of ``gateable_metrics()``."""
    operator: str
    """One of ``>= <= == > <``."""
    threshold: float
    """In the metric's own unit; 0 to 1 for a rate."""

    def __str__(self) -> str:
        return f"{self.metric} {self.operator} {self.threshold!r}"


class GateResult(Record):
    """What a gate came to."""

    gate: str
    metric_value: float | None
    """None where the metric is null."""
    passed: bool
    """False where the metric is null: what was not measured was not met."""
    why: str


def parse_gate(text: str) -> Gate:
    """Return the gate that ``text`` states: metric, operator (>= <= > < ==), number.

    Raises:
        ConfigError: it has another form, names no metric, or bounds a share outside 0 to 1.
    """
    where = f"gate {for_terminal(text, 80)!r}"
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise ConfigError(
            where,
            "another form",
            "a metric, an operator and a number",
            f"Write it like {_EXAMPLE}.",
        )
    metric, sign, number = match.groups()
    threshold = _number(number, where)
    kind = _metric_kind(metric, where)
    if METRIC_KINDS[kind] and not 0 <= threshold <= 1:
        raise ConfigError(
            where, f"the threshold {number}", f"0 to 1: {metric} is a share", "Write 80 % as 0.8."
        )
    return Gate(metric=metric, operator=_operator(sign, where), threshold=threshold)


def parse_gates(texts: Iterable[str]) -> tuple[Gate, ...]:
    """Return the gates in order.

    Raises:
        ConfigError: see ``parse_gate``.
    """
    return tuple(parse_gate(text) for text in texts)


def check_gates(gates: Iterable[Gate], summary: RunSummary) -> tuple[GateResult, ...]:
    """Return what each gate comes to on this summary."""
    return tuple(_check(gate, summary) for gate in gates)


def _check(gate: Gate, summary: RunSummary) -> GateResult:
    metric = metric_of(summary, gate.metric)
    if metric is None or metric.value is None:
        why = _why_null(gate, metric)
        return GateResult(gate=str(gate), metric_value=None, passed=False, why=why)
    passed = _COMPARE[gate.operator](metric.value, gate.threshold)
    # repr, not a rounded form: 0.7996 must not read as 0.8 in "fell short of >= 0.8".
    why = f"{gate.metric} is {metric.value!r}, {'as wanted' if passed else 'which falls short'}"
    return GateResult(gate=str(gate), metric_value=metric.value, passed=passed, why=why)


def _why_null(gate: Gate, metric: Metric | None) -> str:
    if metric is None:
        instrument, _ = gateable_metrics()[gate.metric]
        return f"{gate.metric} is null: the run has no {instrument} rows"
    # Not "none judged": a share over facts is null already where some of them are unknown.
    return f"{gate.metric} is null: {metric.unjudged} unjudged"


def _operator(sign: str, where: str) -> str:
    if sign in _COMPARE:
        return sign
    raise ConfigError(
        where,
        f"the operator {sign!r}",
        f"one of {' '.join(_COMPARE)}",
        f"Write it like {_EXAMPLE}.",
    )


def _number(text: str, where: str) -> float:
    if _NUMBER.fullmatch(text) is None:
        raise ConfigError(
            where,
            f"{for_terminal(text, 40)!r} where the number belongs",
            "a plain decimal number",
            "Write 80 % as 0.8.",
        )
    return float(text)


def _metric_kind(name: str, where: str) -> type[Metric]:
    known = gateable_metrics()
    if name in known:
        return known[name][1]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]}? " if close else ""
    raise ConfigError(
        where,
        f"the metric {for_terminal(name, 40)}",
        f"one of {', '.join(sorted(known))}",
        f"{hint}Correct the gate.",
    )
