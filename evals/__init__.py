"""Conclusion-quality evaluations.

The path of the data, one way, a layer importing only layers before it (``tests/test_layers.py``):

    records, errors, untrusted   what everything else speaks in
    config                       one validated run configuration
    traces/                      trace file -> windows and conclusions
    judging/                     request -> isolation check -> store / API -> response
    premise/                     per conclusion: two passes -> verdict, row, metrics
    runs/                        run record on disk, provenance, calibration state, gates
    report/                      run record -> pages and terminal text
    judge_process/               cases of a run, and the process that judges them
    plugin/                      pytest hooks over one session object

A ``test_*.py`` in here is an evaluation: it records verdicts and holds no judging logic. The checks
of this code itself are in ``tests/``.
"""

BENCH_VERSION = "0.1.0"
"""Version of the instruments: raised when a change can move a metric on the same answers."""
