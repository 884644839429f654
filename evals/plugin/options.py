"""The options of the command line; ``evals.plugin.settings`` makes a configuration of them."""

from pathlib import Path

import pytest

from evals.defaults import (
    DEFAULT_JUDGE_MODEL,
    DEFAULT_STORE,
    RECORDED_JUDGE_MODEL,
    RECORDINGS_DIR,
    REPORTS_DIR,
    ROOT,
)

GATES_INI = "eval_gates"
GALLERY = ROOT / "calibration" / "specimens.yaml"


def add_options(parser: pytest.Parser) -> None:
    """Register every option of the evaluations."""
    _add_input_options(parser.getgroup("evals: input", "evals: traces and gallery"))
    _add_judge_options(parser.getgroup("evals: judge", "evals: who judges, and how"))
    _add_run_options(parser.getgroup("evals: run", "evals: run record, gates and exit code"))
    parser.addini(GATES_INI, "gates of every run, one a line: pass_rate >= 0.8", "linelist", [])


def _add_input_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--traces",
        dest="eval_traces",
        action="append",
        type=Path,
        metavar="PATH",
        help="trace file or folder to judge; may be given more than once"
        " (default: the sample traces)",
    )
    group.addoption(
        "--trace-format",
        dest="eval_trace_format",
        metavar="NAME",
        help="format of the trace (default: told from its content)",
    )
    group.addoption(
        "--skip-bad-records",
        dest="eval_skip_bad",
        action="store_true",
        help="import the rest of a trace with bad records, and report them",
    )
    group.addoption(
        "--dataset-shape",
        dest="eval_dataset_shape",
        choices=("benchmark", "production"),
        help="label of the run's data (default: what the format implies)",
    )
    group.addoption(
        "--gallery",
        dest="eval_gallery",
        type=Path,
        metavar="FILE",
        default=GALLERY,
        help="specimens for `pytest calibration/` (default: the shipped gallery)",
    )


def _add_judge_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--judge",
        dest="eval_judge",
        choices=("auto", "live", "batch", "recorded"),
        default="auto",
        help="auto: live where ANTHROPIC_API_KEY is set, recorded where it is not; batch: live, in"
        " Message Batches (half the price, answers within a day)",
    )
    group.addoption(
        "--judge-model",
        dest="eval_judge_model",
        metavar="ID",
        help=f"the pinned judge (default: {DEFAULT_JUDGE_MODEL} live,"
        f" {RECORDED_JUDGE_MODEL} recorded)",
    )
    group.addoption(
        "--reasoning",
        dest="eval_reasoning",
        choices=("off", "adaptive"),
        default="off",
        help="reasoning mode of the judge, one for the whole run",
    )
    group.addoption(
        "--judge-repeat",
        dest="eval_repeat",
        type=int,
        default=0,
        metavar="N",
        help="repeat index: another number asks everything afresh",
    )
    _add_call_options(group)
    _add_budget_options(group)
    _add_answer_options(group)


def _add_call_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--max-in-flight",
        dest="eval_max_in_flight",
        type=int,
        default=64,
        metavar="N",
        help="calls in flight at once (default: 64)",
    )
    group.addoption(
        "--call-timeout-s",
        dest="eval_call_timeout_s",
        type=float,
        default=120.0,
        metavar="S",
        help="hard deadline of one attempt, in seconds (default: 120)",
    )
    group.addoption(
        "--max-attempts",
        dest="eval_max_attempts",
        type=int,
        default=8,
        metavar="N",
        help="failed attempts a call may take; 429, 529 and outages are not counted (default: 8)",
    )


def _add_answer_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--batch-poll-s",
        dest="eval_batch_poll_s",
        type=float,
        default=60.0,
        metavar="S",
        help="--judge batch: first wait between two looks at a batch, in seconds (default: 60)",
    )
    group.addoption(
        "--store",
        dest="eval_store",
        type=Path,
        default=DEFAULT_STORE,
        metavar="FILE",
        help="SQLite file that keeps every answer (default: .answers/answers.sqlite)",
    )
    group.addoption(
        "--recordings",
        dest="eval_recordings",
        type=Path,
        default=RECORDINGS_DIR,
        metavar="DIR",
        help="read-only recorded answers under the store (default: fixtures/recordings)",
    )
    group.addoption(
        "--export-requests",
        dest="eval_export",
        type=Path,
        metavar="DIR",
        help="write the requests that have no recorded answer, and stop",
    )


def _add_budget_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--max-calls",
        dest="eval_max_calls",
        type=int,
        metavar="N",
        help="requests that the run may send; one that takes several attempts counts once. Exact:"
        " never more. What finds the budget used up is unjudged (budget)",
    )
    group.addoption(
        "--max-tokens",
        dest="eval_max_tokens",
        type=int,
        metavar="N",
        help="tokens that the run's own calls may take, input, cache and output together. Calls in"
        " flight are counted by estimate, so it can go over by what they exceed it",
    )
    group.addoption(
        "--max-cost",
        dest="eval_max_cost",
        type=float,
        metavar="USD",
        help="US dollars that the run's own calls may cost, by the prices in pyproject.toml; can go"
        " over as --max-tokens can",
    )
    group.addoption(
        "--plan",
        dest="eval_plan",
        action="store_true",
        help="print the calls and tokens that the run would need, and how many are stored, and"
        " stop: no call, no key needed",
    )


def _add_run_options(group: pytest.OptionGroup) -> None:
    group.addoption("--run-id", dest="eval_run_id", metavar="ID", help="name of the run's folder")
    group.addoption(
        "--reports-dir",
        dest="eval_reports_dir",
        type=Path,
        default=REPORTS_DIR,
        metavar="DIR",
        help="where run folders go (default: reports/)",
    )
    group.addoption(
        "--allow-unjudged",
        dest="eval_allow_unjudged",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="largest share of items that lack an answer, 0 to 1, in any one instrument, that"
        " still exits 0 (default: 0)",
    )
    group.addoption(
        "--gate",
        dest="eval_gates",
        action="append",
        default=[],
        metavar="EXPR",
        help="'pass_rate >= 0.8': exit 10 if it does not hold; may be given more than once",
    )
    group.addoption(
        "--require-calibration",
        dest="eval_require_calibration",
        action="store_true",
        help="stop with exit 11 before the first call unless the judge is calibrated",
    )
    group.addoption(
        "--coverage-policy",
        dest="eval_coverage_policy",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="weight or threshold of the coverage bench: critical_weight=4, partial_credit=0.5, …;"
        " may be given more than once",
    )
    group.addoption(
        "--over-inference-passes",
        dest="eval_over_inference_passes",
        action="store_true",
        help="policy: elements of kind OVER_INFERENCE do not fail a conclusion",
    )
