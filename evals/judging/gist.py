"""What a run has to know of a row at once: the row itself can wait in a file."""

from dataclasses import dataclass

from evals.judging.case import Row
from evals.judging.gaps import gaps_of
from evals.judging.judged import Judged
from evals.records import Unjudged


@dataclass(frozen=True, slots=True)
class Gist:
    """A few values of a row of any instrument."""

    judged: Judged
    window_id: str
    gaps: tuple[Unjudged, ...]
    """Every answer that it had to do without, at any depth."""
    models_served: tuple[str, ...]
    """Who gave the answers that it rests on, each once."""


def gist_of(row: Row) -> Gist:
    """Return what has to be known of a row."""
    return Gist(
        judged=row.judged,
        window_id=row.provenance.window_id,
        gaps=tuple(gaps_of(row)),
        models_served=tuple(dict.fromkeys(call.model_served for call in row.calls)),
    )
