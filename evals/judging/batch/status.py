"""How far a batch run is, for whoever shows it."""

from dataclasses import dataclass

from evals.judging.batch.wire import RequestCounts


@dataclass(frozen=True)
class RoundStatus:
    """How far a batch run is."""

    number: int
    """Rounds begun, from 1: a round is sent, or waited for, as a whole."""
    requests: int
    """In the batches that the run waits for now."""
    batch_ids: tuple[str, ...]
    """Of those batches, as the server names them; empty between rounds."""
    counts: RequestCounts
    """Of those batches together, as the server last said."""
    notes: tuple[str, ...]
    """What a user should hear of, once each: contradicting results, strangers, batches gone."""
