"""The process that judges, beside the one that runs pytest.

Two processes and not two threads: at full speed calls and tests need a core each (see the benchmark
in ``tests/benchmarks``). The process that judges makes every call of a run. It reads the same
inputs, so test ids are all that it is told; what comes back is rows as JSON, which are written down
as they are.
"""
