"""The metrics of the premise judge (1.4): pure functions of its rows."""

from evals.metrics import Histogram, Mean, Rate
from evals.records import Record


class BundledByMinimality(Record):
    """The pass-1 bundled flag against minimality (1.4): one cell of the cross table."""

    bundled: bool
    minimality: Mean
    """Mean minimality of the conclusions with this flag."""
    single_claim: Rate
    """Share of them whose minimality lists at most one claim."""


class TokenTotals(Record):
    """Calls and tokens behind the rows, each request counted once."""

    calls: int
    calls_by_purpose: dict[str, int]
    calls_by_source: dict[str, int]
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    calls_without_usage: int
    """Answers whose origin states no token count: they are in no total above."""


class PremiseSummary(Record):
    """Every metric of 1.4 over one run's conclusions."""

    conclusions: int
    pass_rate: Rate
    mean_decontextuality: Mean
    mean_minimality: Mean
    mean_molecular: Mean
    failure_attribution_split: Histogram
    """Headline: open slots of failed conclusions by attribution; n counts failed conclusions."""
    failed_without_open_slot: int
    """Failed conclusions with nothing missing: they fail for what they say, not what they lack."""
    attribution_scope: Histogram
    label_histogram: Histogram
    """Free-text labels, exact strings, both passes."""
    time_status_histogram: Histogram
    failed_condition_histogram: Histogram
    """Which conditions of 1.3 failed, over unsound conclusions."""
    unsupported_kind_histogram: Histogram
    bundled_rate: Rate
    bundled_by_minimality: tuple[BundledByMinimality, ...]
    bad_timestamp_rate: Rate
    """Input quality, apart from the deriver's failures (1.3)."""
    token_range_rate: Rate
    """Share of conclusions of 8 to 25 words: a diagnostic, never a criterion."""
    unjudged_share: Rate
    unjudged_by_reason: dict[str, int]
    tokens: TokenTotals
