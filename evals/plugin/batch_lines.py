"""What a user of a batch run should hear of it at the end."""

from evals.judging.batch.status import RoundStatus
from evals.report.numbers import counted

_SHOWN = 20


def batch_lines(status: RoundStatus | None) -> list[str]:
    """Return what goes on at the server and what was odd, a paragraph each; mostly nothing.

    Args:
        status: at the end of the run; None where no batch was sent or waited for.
    """
    if status is None:
        return []
    lines = list(status.notes[:_SHOWN])
    if len(status.notes) > _SHOWN:
        lines.append(f"and {counted(len(status.notes) - _SHOWN, 'note', 'notes')} more")
    if status.batch_ids:
        ids = ", ".join(status.batch_ids[:_SHOWN])
        more = ", …" if len(status.batch_ids) > _SHOWN else ""
        batches = counted(len(status.batch_ids), "batch goes", "batches go")
        requests = counted(status.requests, "request", "requests")
        lines.append(
            f"{batches} on at the server with {requests}: {ids}{more}. Nothing was cancelled: the"
            " same command with the same --store takes up what is answered, and asks none of it"
            " again."
        )
    return lines
