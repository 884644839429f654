"""The input files of a run."""

from functools import cached_property

from evals.config import RunConfig
from evals.records import Window
from evals.traces import Trace, load_trace


class Inputs:
    """The run's input files, each read once and only if a suite asks for it."""

    def __init__(self, config: RunConfig) -> None:
        """Take the configuration; nothing is read yet."""
        self.config = config

    @cached_property
    def traces(self) -> tuple[Trace, ...]:
        """Every trace given, imported.

        Raises:
            TraceError: one of them cannot be read.
        """
        return tuple(
            load_trace(
                path,
                trace_format=self.config.trace_format,
                skip_bad_records=self.config.skip_bad_records,
                dataset_shape=self.config.dataset_shape,
            )
            for path in self.config.trace_paths
        )

    @property
    def windows(self) -> list[Window]:
        """The windows of every trace, in order."""
        return [window for trace in self.traces for window in trace.windows]
