"""The line below the cursor, against an emulator: whatever is written, no trace of it is left."""

import fcntl
import io
import os
import random
import termios
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TextIO

import pytest

from evals.plugin.live_line import (
    Display,
    LiveLine,
    PlainLines,
    SharedOutput,
    column_after,
)
from evals.plugin.progress import Progress
from tests.plugin.terminals import Emulator

PROGRESS = Progress(
    judged=310,
    selected=2_000,
    in_flight=64,
    pace=None,
    retries=0,
    batch_round=None,
    input_tokens=0,
    output_tokens=0,
    cost_usd=None,
    elapsed_s=31,
    left_s=None,
)
LINE = "judged 310/2,000, 64 in flight"


class Pipe:
    """A stream whose other end can be read."""

    def __init__(self) -> None:
        self._reader, self.fd = os.pipe()
        # Large enough that no write ever waits.
        fcntl.fcntl(self._reader, fcntl.F_SETPIPE_SZ, 1_000_000)
        os.set_blocking(self._reader, False)
        self.stream: TextIO = os.fdopen(self.fd, "w", encoding="utf-8", newline="\n")

    def sent(self) -> bytes:
        """What has arrived since the last look."""
        found = bytearray()
        try:
            while piece := os.read(self._reader, 1_000_000):
                found += piece
        except BlockingIOError:
            pass
        return bytes(found)

    def close(self) -> None:
        self.stream.close()
        os.close(self._reader)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Bench:
    pipe: Pipe
    clock: Clock
    output: SharedOutput
    screen: Emulator

    def look(self) -> list[str]:
        """The screen, as far as anything has reached it."""
        # The driver of a terminal makes both of a line feed.
        self.screen.feed(self.pipe.sent().replace(b"\n", b"\r\n"))
        return self.screen.rows

    def write(self, text: str) -> list[str]:
        self.pipe.stream.write(text)
        return self.look()

    def show(self, progress: Progress | None = PROGRESS) -> list[str]:
        self.output.show(progress)
        return self.look()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def bench(pipe: Pipe, clock: Clock) -> Iterator[Bench]:
    with SharedOutput(LiveLine(pipe.fd, 0, clock), [pipe.stream]) as output:
        yield Bench(pipe, clock, output, Emulator())


@pytest.mark.parametrize(
    ("column", "text", "after"),
    [
        (0, "", 0),
        (3, "..", 5),
        (3, "\x1b[32m.\x1b[0m", 4),
        (3, "abc\nde", 2),
        (3, "abc\n", 0),
        (3, "abc\rde", None),
        (3, "abc\rde\nfg", 2),
        (75, "0123456789", 85),
        (None, "..", None),
        (None, "..\n.", 1),
        (3, "a\tb", None),
        (3, "é", None),
        (3, "\x1b[2K", None),
        (3, "é\nab", 2),
    ],
)
def test_the_column_is_counted_where_counting_is_enough(
    column: int | None, text: str, after: int | None
) -> None:
    assert column_after(column, text) == after


def test_the_line_stands_below_a_growing_row_of_dots(bench: Bench) -> None:
    bench.write("test_premise.py ..")
    assert bench.show()[:2] == ["test_premise.py ..", LINE]
    for count in range(3, 20):
        assert bench.write(".")[:3] == ["test_premise.py " + "." * count, LINE, ""]
    assert bench.screen.cursor == (0, len("test_premise.py ") + 19)


def test_dots_cost_no_redraw(bench: Bench) -> None:
    bench.write(".")
    bench.show()
    bench.pipe.stream.write("\x1b[32m.\x1b[0m")
    assert bench.pipe.sent() == b"\x1b[32m.\x1b[0m"


def test_a_finished_line_pushes_the_line_down(bench: Bench) -> None:
    bench.write("one")
    bench.show()
    bench.clock.now_s += 1
    assert bench.write(" done\ntwo")[:4] == ["one done", "two", LINE, ""]


def test_what_runs_over_into_the_next_row_finds_it_empty(bench: Bench) -> None:
    bench.write("x" * 70)
    bench.show()
    assert bench.write("y" * 15)[:3] == ["x" * 70 + "y" * 10, "y" * 5, ""]


def test_in_a_torrent_of_lines_it_is_drawn_at_most_ten_times_a_second(bench: Bench) -> None:
    bench.write("start")
    bench.show()
    drawn = 0
    for number in range(1_000):
        bench.clock.now_s += 0.001
        drawn += LINE in bench.write(f"line {number}\n")
    assert drawn == 10


def test_at_the_bottom_it_scrolls_once_and_leaves_nothing_above(bench: Bench) -> None:
    lines = [f"row {number}" for number in range(30)]
    bench.write("\n".join(lines))
    for _ in range(3):
        bench.show()
    bench.clock.now_s += 1
    bench.write("\nrow 30\nrow 31")
    bench.output.pause()
    bench.look()
    written = [*lines, "row 30", "row 31"]
    assert [row for row in bench.screen.everything if row] == written


def test_nothing_is_drawn_while_the_cursor_is_on_the_edge(bench: Bench) -> None:
    bench.write("x" * 80)
    assert LINE not in bench.show()
    bench.write("y")
    assert bench.show()[:3] == ["x" * 80, "y", LINE]


def test_nothing_is_drawn_while_the_column_is_not_known(bench: Bench) -> None:
    bench.write("größer ")
    assert LINE not in bench.show()
    bench.write("\nab")
    assert bench.show()[:3] == ["größer", "ab", LINE]


def test_what_was_not_flushed_is_there_before_the_line(pipe: Pipe, clock: Clock) -> None:
    pipe.stream.write("unfinished")
    with SharedOutput(LiveLine(pipe.fd, 10, clock), [pipe.stream]) as output:
        bench = Bench(pipe, clock, output, Emulator())
        assert bench.show()[:2] == ["unfinished", LINE]


def test_two_streams_of_one_terminal_make_way_alike(bench: Bench) -> None:
    errors = os.fdopen(os.dup(bench.pipe.fd), "w", encoding="utf-8")
    with errors, SharedOutput(bench.output.display, [errors]):
        bench.write("dots ..")
        bench.show()
        errors.write("a warning\n")
        assert bench.look()[:3] == ["dots ..a warning", "", ""]


def test_print_goes_through_and_closing_gives_the_stream_back(pipe: Pipe) -> None:
    before = pipe.stream.write
    with SharedOutput(LiveLine(pipe.fd, 0), [pipe.stream]) as output:
        output.show(PROGRESS)
        print("one", "two", file=pipe.stream)
        assert pipe.sent().endswith(b"one two\x1b[J\n")
    assert pipe.stream.write == before


@pytest.mark.parametrize("early", [None, replace(PROGRESS, elapsed_s=0.9)])
def test_without_anything_to_say_the_line_goes(bench: Bench, early: Progress | None) -> None:
    bench.write("dots")
    bench.show()
    assert bench.show(early) == ["dots", *[""] * 23]
    bench.clock.now_s += 1
    assert LINE not in bench.write("\nmore")


def test_while_a_person_debugs_nothing_is_drawn(bench: Bench) -> None:
    bench.write("(Pdb) ")
    bench.show()
    bench.output.pause()
    assert LINE not in bench.look()
    assert LINE not in bench.show()
    bench.output.resume()
    assert LINE not in bench.show()  # where the person left the cursor nobody knows
    bench.write("\ngo on")
    assert LINE in bench.show()


def test_enter_on_the_keyboard_leaves_no_second_line(bench: Bench) -> None:
    bench.write("dots ..")
    bench.show()
    bench.screen.feed(b"\r\n")
    assert bench.show()[:3] == ["dots ..", "", LINE]


@pytest.mark.parametrize(
    ("rows", "columns", "line"),
    [(10, 40, LINE), (2, 31, LINE), (10, 30, "judged 310/2,000"), (10, 9, "judged 3"), (10, 1, "")],
)
def test_it_fits_the_terminal_whatever_its_size(
    rows: int, columns: int, line: str, clock: Clock
) -> None:
    keyboard, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (rows, columns))
    emulator = Emulator(columns, rows)
    try:
        LiveLine(terminal, 0, clock).show(PROGRESS)
        drawn = os.read(keyboard, 4_096)
    finally:
        os.close(terminal)
        os.close(keyboard)
    emulator.feed(drawn)
    assert emulator.cursor == (0, 0)
    assert emulator.rows[:2] == ["", line]


def test_a_terminal_of_one_row_gets_no_line(clock: Clock) -> None:
    keyboard, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (1, 80))
    os.set_blocking(keyboard, False)
    try:
        LiveLine(terminal, 0, clock).show(PROGRESS)
        with pytest.raises(BlockingIOError):
            os.read(keyboard, 4_096)
    finally:
        os.close(terminal)
        os.close(keyboard)


def test_a_terminal_that_is_gone_ends_nothing(clock: Clock) -> None:
    keyboard, terminal = os.openpty()
    os.close(keyboard)
    try:
        line = LiveLine(terminal, 0, clock)
        line.show(PROGRESS)
        line.hide()
    finally:
        os.close(terminal)


def pieces(chance: random.Random) -> Iterator[str]:
    """Yield what pytest and tests write, and worse."""
    kinds: list[Callable[[], str]] = [
        lambda: ".",
        lambda: "\x1b[33mu\x1b[0m",
        lambda: "\n",
        lambda: "." * chance.randrange(100),
        lambda: f"\nevals/premise/test_premise.py::test[{chance.randrange(10**9)}] ",
        lambda: f"\x1b[32mSOUND\x1b[0m {'x' * chance.randrange(90)}",
        lambda: f"\r{chance.randrange(10**6)} workers{' ' * 60}",
        lambda: "a\tb",
        lambda: "größer",
        lambda: "\r\x1b[2K",
        lambda: "many\nlines\n\nat once",
        lambda: "",
    ]
    for _ in range(200):
        yield chance.choice(kinds)()


@pytest.mark.parametrize("seed", range(10))
def test_whatever_is_written_the_screen_is_the_one_without_the_line(
    seed: int, bench: Bench
) -> None:
    chance = random.Random(seed)
    plain = Emulator()
    seen = 0
    for text in pieces(chance):
        plain.feed(text.replace("\n", "\r\n").encode())
        rows = bench.write(text)
        if chance.random() < 0.4:
            bench.clock.now_s += chance.choice([0.0, 0.2])
            rows = bench.show()
        seen += LINE in rows
    assert seen > 20
    bench.output.pause()
    bench.write("\nThe end.\n")
    plain.feed(b"\r\nThe end.\r\n")
    assert bench.screen.everything == plain.everything
    assert bench.screen.cursor == plain.cursor


def test_threads_that_write_and_draw_at_once_leave_the_screen_clean(bench: Bench) -> None:
    ended = threading.Event()

    def draw() -> None:
        # With a pause, or the lock might never be the writer's, until the pipe is full.
        while not ended.wait(0.0001):
            bench.output.show(PROGRESS)

    thread = threading.Thread(target=draw)
    thread.start()
    plain = Emulator()
    for text in pieces(random.Random(1)):
        plain.feed(text.replace("\n", "\r\n").encode())
        bench.write(text)
    ended.set()
    thread.join()
    bench.output.pause()
    bench.write("\nThe end.\n")
    plain.feed(b"\r\nThe end.\r\n")
    assert bench.screen.everything == plain.everything


class DrawnIntoStream(io.StringIO):
    """In the middle of a write, has another thread draw."""

    draw: Callable[[], None]
    waited: bool

    def write(self, text: str) -> int:
        thread = threading.Thread(target=self.draw)
        thread.start()
        thread.join(0.05)
        self.waited = thread.is_alive()
        return super().write(text)


def test_nothing_is_drawn_in_the_middle_of_a_write(pipe: Pipe) -> None:
    stream = DrawnIntoStream()
    with SharedOutput(LiveLine(pipe.fd, 0), [stream]) as output:
        stream.draw = lambda: output.show(PROGRESS)
        stream.write("dots ..")
        assert stream.waited


@pytest.fixture
def log(pipe: Pipe) -> Iterator[SharedOutput]:
    display: Display = PlainLines(pipe.fd, 0, 30)
    with SharedOutput(display, [pipe.stream]) as output:
        yield output


def test_a_log_gets_a_line_every_thirty_seconds(log: SharedOutput, pipe: Pipe) -> None:
    for elapsed_s in range(100):
        log.show(replace(PROGRESS, elapsed_s=elapsed_s))
    lines = pipe.sent().decode().splitlines()
    assert lines == [f"{time}: {LINE}" for time in ("30 s", "1 min 00 s", "1 min 30 s")]


def test_a_run_that_ends_before_that_gets_none(log: SharedOutput, pipe: Pipe) -> None:
    log.show(replace(PROGRESS, elapsed_s=29.9))
    log.show(None)
    assert pipe.sent() == b""


def test_in_a_log_a_broken_row_of_dots_goes_on_where_it_was(log: SharedOutput, pipe: Pipe) -> None:
    pipe.stream.write("test_premise.py ..")
    log.show(replace(PROGRESS, elapsed_s=30))
    log.show(replace(PROGRESS, elapsed_s=60))
    pipe.stream.write(".")
    pipe.stream.write("u\nnext")
    assert pipe.sent().decode().split("\n") == [
        "test_premise.py ..",
        f"30 s: {LINE}",
        f"1 min 00 s: {LINE}",
        "                  .u",
        "next",
    ]


def test_in_a_log_a_line_that_ends_is_not_filled_up(log: SharedOutput, pipe: Pipe) -> None:
    pipe.stream.write("test_premise.py ..")
    log.show(PROGRESS)
    pipe.stream.write("\n= the end =\n")
    log.show(replace(PROGRESS, elapsed_s=90))
    assert pipe.sent().decode().split("\n") == [
        "test_premise.py ..",
        f"31 s: {LINE}",
        "",
        "= the end =",
        f"1 min 30 s: {LINE}",
        "",
    ]


def test_in_a_log_the_line_stands_alone_where_the_column_is_not_known(
    log: SharedOutput, pipe: Pipe
) -> None:
    pipe.stream.write("größer ")
    log.show(PROGRESS)
    pipe.stream.write("als")
    assert pipe.sent().decode() == f"größer \n31 s: {LINE}\nals"
