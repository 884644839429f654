"""From the configuration of a run to its judge."""

from pydantic import SecretStr

from evals.config import RunConfig
from evals.errors import ConfigError
from evals.judging.batch.api import BatchesApi
from evals.judging.batch.engine import BatchEngine
from evals.judging.budget import Budget
from evals.judging.calls import LiveCalls
from evals.judging.engine import JudgeEngine
from evals.judging.export import Export
from evals.judging.live import LiveTransport
from evals.judging.missing import Missing
from evals.judging.prices import load_prices
from evals.judging.recordings import Recordings
from evals.judging.retry import RetryPolicy
from evals.judging.sdk import ApiClient
from evals.judging.store import AnswerStore

_BATCH_CONNECTIONS = 4
"""One after the other is what is sent; a connection that broke is not waited for."""


def open_engine(config: RunConfig) -> JudgeEngine:
    """Open the judge of a run; with a live or batch judge this imports the SDK (half a second).

    Raises:
        StoreError: the store or a recording cannot be opened.
        ConfigError: live or batch mode without a key, or a broken price table.
    """
    live = _live_calls(config) if config.judge_mode == "live" else None
    batches = _batches(config) if config.judge_mode == "batch" else None
    budget = Budget(config.limits, load_prices(), in_batch=batches is not None)
    store = AnswerStore(config.store_path)
    try:
        recordings = Recordings(config.recordings_dir)
        if batches is not None:
            return BatchEngine(
                store,
                recordings,
                batches,
                _retry_policy(config),
                poll_s=config.batch_poll_s,
                budget=budget,
            )
        export = None
        if config.judge_mode == "recorded" and config.export_dir is not None:
            export = Export(config.export_dir, as_text=True)
        return JudgeEngine(store, recordings, live, budget, Missing(export))
    except BaseException:
        store.close()
        raise


def _live_calls(config: RunConfig) -> LiveCalls:
    transport = LiveTransport(
        api_key=_key_of(config), base_url=config.base_url, max_in_flight=config.max_in_flight
    )
    return LiveCalls(transport, _retry_policy(config), config.max_in_flight)


def _batches(config: RunConfig) -> BatchesApi:
    client = ApiClient(
        api_key=_key_of(config), base_url=config.base_url, max_connections=_BATCH_CONNECTIONS
    )
    return BatchesApi(client, config.call_timeout_s)


def _retry_policy(config: RunConfig) -> RetryPolicy:
    return RetryPolicy(max_attempts=config.max_attempts, attempt_timeout_s=config.call_timeout_s)


def _key_of(config: RunConfig) -> SecretStr:
    if config.api_key is None:
        raise ConfigError(
            f"--judge {config.judge_mode}",
            "no ANTHROPIC_API_KEY in the environment",
            "a key",
            "Set ANTHROPIC_API_KEY, or use --judge recorded.",
        )
    return config.api_key
