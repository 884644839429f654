"""Reports of every kind quote what people said: they are the user's alone."""

import os

import pytest

_OWNER_ONLY = 0o077
"""Umask: nothing for anybody else."""


def keep_private(config: pytest.Config) -> None:
    """Make private whatever this process writes until pytest has ended, be it pytest's own file.

    JUnit's report, logs, pytest-html's assets, the cache: whoever writes them says nothing of their
    mode. A file that is there keeps its own, and xdist's workers, started later, do the same.
    """
    before = os.umask(_OWNER_ONLY)

    def restore() -> None:
        os.umask(before)

    config.add_cleanup(restore)
