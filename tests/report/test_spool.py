"""Lines that wait for their place in a page."""

from pathlib import Path

import pytest

from evals.report import spool
from evals.report.spool import Spool

LINES = ["", "{}", '{"a":"\u2028\x85\x0b ☂"}', "x" * 500]


@pytest.mark.parametrize("in_memory_bytes", [10, 1_000_000], ids=["on-disk", "in-memory"])
def test_lines_come_back_as_they_were_and_leave_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory_bytes: int
) -> None:
    monkeypatch.setattr(spool, "_IN_MEMORY_BYTES", in_memory_bytes)
    with Spool(tmp_path) as lines:
        for line in LINES:
            lines.add(line)
        assert list(lines.lines()) == LINES
        assert list(tmp_path.iterdir()) == []
    with Spool(None) as none:
        assert list(none.lines()) == []
