"""What a user of a batch run should hear of it at the end."""

from evals.config import JudgeMode
from evals.judging.batch.status import RoundStatus
from evals.report.numbers import counted
from evals.report.terminal_text import wrapped

_SHOWN = 20
_WIDTH = 80


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


def under_way_lines(requests: int, mode: JudgeMode, *, plan: bool) -> list[str]:
    """Return what is to be known of batches that earlier runs have left at the server.

    Args:
        requests: in such batches, by the run's store.
        mode: of this run.
        plan: whether it is planned only.
    """
    takes_them_up = mode == "batch" and not plan
    if not requests or takes_them_up or mode == "recorded":
        return []
    are = "1 request of an earlier run is" if requests == 1 else f"{requests:,} requests are"
    text = (
        f"batches: {are} in Message Batches that go on at the server."
        " --judge batch takes them up, and pays no more for them;"
    )
    if mode == "batch":
        return wrapped(f"{text} the plan counts those among its calls.", _WIDTH)
    return wrapped(f"{text} any other run pays again for those that it asks too.", _WIDTH)
