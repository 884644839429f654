"""What the coverage bench counts how: policy of the harness, kept in the run record."""

from pydantic import Field

from evals.records import Record


class CoveragePolicy(Record):
    """Weights and thresholds (3.1, 3.5). Changing one changes no call."""

    critical_weight: float = Field(default=4, ge=0, le=1000)
    important_weight: float = Field(default=2, ge=0, le=1000)
    minor_weight: float = Field(default=1, ge=0, le=1000)
    partial_credit: float = Field(default=0.5, ge=0, le=1)
    """What a PARTIAL fact counts of a COVERED one."""
    absent_topic_share: float = Field(default=0.2, ge=0, le=1)
    """A gold topic over this share, absent from the conclusions, is flagged."""
    dominant_topic_share: float = Field(default=0.6, ge=0, le=1)
    """One topic over this share of the conclusions is flagged, against diverse gold."""
    diverse_topics: int = Field(default=3, ge=1)
    """Gold is diverse from this many topics on."""


DEFAULT_POLICY = CoveragePolicy()
"""The specification's suggestions (3.1, 3.5)."""
