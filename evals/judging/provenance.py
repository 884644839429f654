"""The provenance of a row (4.2), made in one place for every instrument."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from evals.judging.case import RunContext
from evals.records import Conclusion, Provenance, Window


def provenance_in(
    context: RunContext,
    window: Window,
    prompt_hashes: Mapping[str, str],
    conclusions: Sequence[Conclusion],
) -> Provenance:
    """Return what a row about conclusions of a window must say of its making (4.1, 4.2).

    Args:
        context: the run.
        window: what the deriver saw.
        prompt_hashes: prompt name -> hash, of every prompt that the instrument uses.
        conclusions: those that the row is about. The deriver fields are theirs where they agree,
            and None where they differ or there are none.
    """
    return Provenance(
        run_id=context.run_id,
        bench_version=context.bench_version,
        judge_model_id=context.settings.model,
        judge_prompt_hashes=dict(prompt_hashes),
        reasoning_enabled=context.settings.reasoning != "off",
        judge_repeat=context.settings.repeat,
        dataset_shape=window.dataset_shape,
        git_commit=context.git_commit,
        git_dirty=context.git_dirty,
        window_id=window.window_id,
        window_text_hash=window.window_text_hash,
        window_message_ids=tuple(message.message_id for message in window.messages),
        message_timestamps=tuple(message.sent_at for message in window.messages),
        window_reconstructed=window.window_reconstructed,
        peer_id=window.peer_id,
        deriver_prompt_hash=_common([item.deriver_prompt_hash for item in conclusions]),
        deriver_model_id=_common([item.deriver_model_id for item in conclusions]),
        derived_at=_common_time([item.derived_at for item in conclusions]),
    )


def _common(values: Sequence[str | None]) -> str | None:
    return values[0] if len(set(values)) == 1 else None


def _common_time(values: Sequence[datetime | None]) -> datetime | None:
    return values[0] if len(set(values)) == 1 else None
