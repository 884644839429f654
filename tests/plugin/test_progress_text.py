"""What the line says, and how long the rest is said to take."""

from dataclasses import dataclass, replace

import pytest

from evals.judging.batch.status import RoundStatus
from evals.judging.batch.wire import RequestCounts
from evals.judging.engine import EngineCounts
from evals.judging.ledger import Spending
from evals.judging.limiter import Pace
from evals.judging.prices import NO_TOKENS, TokenCounts
from evals.plugin.progress import Meter, Progress, TimeLeft, live_text, plain_text

SPENDING = Spending(
    answers=0,
    tokens=NO_TOKENS,
    cost_usd=None,
    cost_unknown_why="no price",
    prices_as_of=None,
    ran_out=None,
)
FULL = Progress(
    judged=12_310,
    selected=50_000,
    in_flight=64,
    pace=Pace(limit=64, max_in_flight=64, hold_s=0.0, is_asked=False, refused_for_s=0.0),
    retries=312,
    batch_round=None,
    input_tokens=12_400_000,
    output_tokens=3_100_000,
    cost_usd=123.45,
    elapsed_s=1_215,
    left_s=4_700,
)
USUAL = Progress(
    judged=310,
    selected=2_000,
    in_flight=64,
    pace=FULL.pace,
    retries=12,
    batch_round=None,
    input_tokens=1_200_000,
    output_tokens=310_000,
    cost_usd=1.234,
    elapsed_s=42,
    left_s=200,
)


@pytest.mark.parametrize(
    ("progress", "width", "text"),
    [
        (
            USUAL,
            79,
            "judged 310/2,000, 64 in flight, 12 retries, 1.2M in 310k out, $1.23, 4 min left",
        ),
        (USUAL, 78, "judged 310/2,000, 64 in flight, 12 retries, $1.23, 4 min left"),
        (FULL, 79, "judged 12,310/50,000, 64 in flight, 312 retries, $123.45, 1 h 19 min left"),
        (FULL, 72, "judged 12,310/50,000, 64 in flight, $123.45, 1 h 19 min left"),
        (FULL, 50, "judged 12,310/50,000, $123.45, 1 h 19 min left"),
        (FULL, 39, "judged 12,310/50,000, 1 h 19 min left"),
        (FULL, 30, "judged 12,310/50,000"),
        (FULL, 10, "judged 12,"),
    ],
)
def test_the_line_fits_and_keeps_what_matters_most(
    progress: Progress, width: int, text: str
) -> None:
    assert live_text(progress, width) == text


def slowed(
    progress: Progress,
    *,
    limit: int = 64,
    hold_s: float = 0.0,
    is_asked: bool = False,
    refused_for_s: float = 0.0,
    in_flight: int = 0,
) -> Progress:
    return replace(
        progress, in_flight=in_flight, pace=Pace(limit, 64, hold_s, is_asked, refused_for_s)
    )


ASKED = slowed(FULL, limit=12, hold_s=11.2, is_asked=True)
OUTAGE = slowed(FULL, limit=1, hold_s=299.1, is_asked=True, refused_for_s=401.9)


@pytest.mark.parametrize(
    ("progress", "width", "text"),
    [
        (
            slowed(FULL, limit=12, in_flight=9),
            79,
            "judged 12,310/50,000, 9/12 in flight, 312 retries, $123.45, 1 h 19 min left",
        ),
        (
            slowed(USUAL, hold_s=11.2, is_asked=True),
            79,
            "judged 310/2,000, held 12 s (server asked), 0 in flight, $1.23, 4 min left",
        ),
        (
            slowed(USUAL, limit=1, hold_s=2.4, refused_for_s=29.9),
            79,
            "judged 310/2,000, held 3 s, 0/1 in flight, 12 retries, $1.23, 4 min left",
        ),
        (
            slowed(USUAL, limit=1, in_flight=1, refused_for_s=65),
            79,
            "judged 310/2,000, no answer for 65 s, 1/1 in flight, $1.23, 4 min left",
        ),
        (ASKED, 79, "judged 12,310/50,000, held 12 s (server asked), $123.45, 1 h 19 min left"),
        (ASKED, 46, "judged 12,310/50,000, held 12 s (server asked)"),
        (
            OUTAGE,
            79,
            "judged 12,310/50,000, held 300 s (server asked), no answer for 6 min",
        ),
        (OUTAGE, 60, "judged 12,310/50,000, held 300 s (server asked)"),
    ],
)
def test_what_slows_the_run_down_is_said_and_stays_longest(
    progress: Progress, width: int, text: str
) -> None:
    assert live_text(progress, width) == text


def test_no_state_of_a_run_breaks_eighty_columns() -> None:
    """The widest there is: five minutes are the longest hold, ten the longest outage."""
    widest = slowed(
        replace(FULL, judged=99_999, selected=100_000, retries=99_999, cost_usd=9_999.99),
        limit=63,
        in_flight=63,
        hold_s=300,
        is_asked=True,
        refused_for_s=659,
    )
    assert len(live_text(widest, 79)) <= 79
    assert "held 300 s (server asked), no answer for 10 min" in live_text(widest, 79)


def test_a_log_is_told_what_slows_the_run_down() -> None:
    assert plain_text(OUTAGE) == (
        "20 min 15 s: judged 12,310/50,000, held 300 s (server asked), no answer for 6 min,"
        " 0/1 in flight, 312 retries, 12M in 3.1M out, $123.45, 1 h 19 min left"
    )


def test_a_log_gets_all_of_it() -> None:
    assert plain_text(FULL) == (
        "20 min 15 s: judged 12,310/50,000, 64 in flight, 312 retries, 12M in 3.1M out, $123.45,"
        " 1 h 19 min left"
    )


def test_what_is_not_known_or_zero_is_left_out() -> None:
    nothing = replace(USUAL, retries=0, input_tokens=0, output_tokens=0, cost_usd=None, left_s=None)
    assert live_text(nothing, 79) == "judged 310/2,000, 64 in flight"
    assert live_text(replace(nothing, in_flight=None, pace=None), 79) == "judged 310/2,000"
    zero = replace(nothing, cost_usd=0.0, in_flight=0)
    assert live_text(zero, 79) == "judged 310/2,000, 0 in flight"


@pytest.mark.parametrize(
    ("cost_usd", "text"),
    [(0.0001, "under $0.01"), (0.01, "$0.01"), (1.999, "$2.00"), (1_234.5, "$1,234.50")],
)
def test_a_cost_is_never_rounded_to_nothing(cost_usd: float, text: str) -> None:
    assert f", {text}, " in live_text(replace(USUAL, cost_usd=cost_usd), 200)


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (1, "1"),
        (999, "999"),
        (1_000, "1.0k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (310_400, "310k"),
        (999_600, "1.0M"),
        (31_400_000, "31M"),
        (2_500_000_000, "2.5G"),
    ],
)
def test_tokens_are_short(tokens: int, text: str) -> None:
    assert f", {text} in " in live_text(replace(USUAL, input_tokens=tokens), 200)


@pytest.mark.parametrize(
    ("left_s", "text"),
    [
        (0, "5 s"),
        (5.1, "10 s"),
        (55, "55 s"),
        (55.1, "1 min"),
        (61, "2 min"),
        (59 * 60, "59 min"),
        (59 * 60 + 1, "1 h 00 min"),
        (4_801, "1 h 21 min"),
        (47.5 * 3_600, "47 h 30 min"),
        (48 * 3_600, "2 days"),
        (49 * 3_600, "3 days"),
    ],
)
def test_time_left_is_rounded_up(left_s: float, text: str) -> None:
    assert live_text(replace(USUAL, left_s=left_s), 200).endswith(f", {text} left")


def test_the_rate_of_a_steady_run_gives_the_time_left() -> None:
    time_left = TimeLeft(fewest=5)
    for second in range(11):
        time_left.seen(10 + second, 100 + 4 * second)
    assert time_left.left_s(20, 140, 200) == pytest.approx(15)


@pytest.mark.parametrize(("elapsed_s", "judged"), [(10, 100), (10, 110), (15, 104), (15, 100)])
def test_too_little_to_go_by_gives_no_time_left(elapsed_s: float, judged: int) -> None:
    time_left = TimeLeft(fewest=5)
    assert time_left.left_s(elapsed_s, judged, 200) is None
    time_left.seen(10, 100)
    assert time_left.left_s(elapsed_s, judged, 200) is None


def test_the_rate_is_that_of_the_last_minutes() -> None:
    time_left = TimeLeft(fewest=5)
    judged = 0
    for second in range(2_000):
        judged += 10 if second < 1_000 else 1
        time_left.seen(second, judged)
    assert time_left.left_s(1_999, judged, judged + 60) == pytest.approx(60, rel=0.02)


def test_a_long_standstill_takes_the_time_left_away() -> None:
    time_left = TimeLeft(fewest=5)
    for second in range(100):
        time_left.seen(second, second)
    assert time_left.left_s(100, 99, 200) is not None
    for second in range(100, 800):
        time_left.seen(second, 99)
    assert time_left.left_s(800, 99, 200) is None


@dataclass
class Run:
    """What a run tells about itself."""

    judged: int
    selected: int
    counts: EngineCounts | None


def counts(*, calls: int = 0, retries: int = 0, in_flight: int = 0) -> EngineCounts:
    return EngineCounts(
        calls=calls,
        attempts=calls + retries,
        retries=retries,
        in_flight=in_flight,
        answers={},
        spending=SPENDING,
    )


def test_before_it_has_begun_and_when_all_is_judged_there_is_nothing_to_say() -> None:
    run = Run(judged=0, selected=0, counts=None)
    meter = Meter(run, "live", 64)
    assert meter.read(0.5) is None
    run.counts = counts()
    assert meter.read(1) is None
    run.selected = 100
    assert meter.read(1.5) is not None
    run.judged = 100
    assert meter.read(2) is None


def test_what_the_store_answered_does_not_count_for_the_time_left() -> None:
    run = Run(judged=5_000, selected=6_000, counts=counts())
    meter = Meter(run, "live", 10)
    for second in range(3):
        meter.read(second)
    for second in range(10):
        run.counts = counts(calls=20 * second + 10, in_flight=10)
        run.judged = 5_000 + 10 * second
        progress = meter.read(3 + second)
    assert progress is not None
    assert progress.judged == 5_090
    assert progress.left_s == pytest.approx(91)


def test_a_round_of_cases_must_have_ended_before_a_time_is_told() -> None:
    run = Run(judged=0, selected=1_000, counts=counts(calls=64, in_flight=64))
    meter = Meter(run, "live", 64)
    meter.read(1)
    for judged, told in [(63, False), (64, True)]:
        run.judged = judged
        progress = meter.read(9)
        assert progress is not None
        assert (progress.left_s is not None) is told


def test_a_recorded_run_has_no_calls_but_a_time_left() -> None:
    run = Run(judged=0, selected=50_000, counts=counts())
    meter = Meter(run, "recorded", 64)
    meter.read(1)
    run.judged = 10_000
    progress = meter.read(11)
    assert progress is not None
    assert progress.left_s == pytest.approx(40)
    assert live_text(progress, 79) == "judged 10,000/50,000, 40 s left"


def test_retries_and_calls_in_flight_are_the_judges() -> None:
    run = Run(judged=1, selected=10, counts=counts(calls=5, retries=3, in_flight=4))
    progress = Meter(run, "live", 4).read(1)
    assert progress is not None
    assert live_text(progress, 79) == "judged 1/10, 4 in flight, 3 retries"


def test_what_slows_the_run_down_is_what_the_judge_tells() -> None:
    pace = Pace(limit=3, max_in_flight=4, hold_s=12, is_asked=True, refused_for_s=0)
    run = Run(judged=1, selected=10, counts=replace(counts(calls=5, in_flight=1), pace=pace))
    progress = Meter(run, "live", 4).read(1)
    assert progress is not None
    assert live_text(progress, 79) == "judged 1/10, held 12 s (server asked), 1/3 in flight"


def test_tokens_and_cost_are_those_of_what_was_bought() -> None:
    bought = replace(SPENDING, tokens=TokenCounts(100, 2_000, 900, 400), cost_usd=0.5)
    run = Run(judged=1, selected=10, counts=replace(counts(calls=5), spending=bought))
    progress = Meter(run, "live", 4).read(1)
    assert progress is not None
    assert live_text(progress, 79) == "judged 1/10, 0 in flight, 3.0k in 400 out, $0.50"


def test_a_batch_run_tells_its_round_in_place_of_calls_and_time() -> None:
    states = RequestCounts(processing=200, succeeded=990, errored=10, canceled=0, expired=0)
    status = RoundStatus(
        number=2, requests=1_200, batch_ids=("msgbatch_1",), counts=states, notes=()
    )
    run = Run(judged=0, selected=600, counts=counts(calls=1_800, in_flight=1))
    meter = Meter(run, "batch", 64)
    before = meter.read(1)
    assert before is not None
    assert live_text(before, 79) == "judged 0/600"
    run.counts = replace(counts(calls=1_800), round=status)
    run.judged = 300
    progress = meter.read(60)
    assert progress is not None
    assert live_text(progress, 79) == "judged 300/600, round 2: 1,000/1,200"
