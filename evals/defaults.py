"""What a run uses where nothing else is asked for. Imports next to nothing."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
DEFAULT_JUDGE_MODEL = "claude-sonnet-5-5"
"""The judge of live runs, for both passes (1.5). Named here and nowhere else."""
RECORDED_JUDGE_MODEL = "unknown-claude"
"""The pin of the shipped recordings: a Claude model whose exact id is not known."""
SAMPLE_TRACE = ROOT / "fixtures" / "sample" / "traces.jsonl"
RECORDINGS_DIR = ROOT / "fixtures" / "recordings"
DEFAULT_STORE = ROOT / ".answers" / "answers.sqlite"
REPORTS_DIR = ROOT / "reports"
