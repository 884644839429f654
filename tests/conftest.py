"""What every test can rely on."""

import signal


def pytest_configure() -> None:
    """Hear SIGINT, here and in what is started: a shell's background job is told to ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
