"""The only module that reads the environment. Imports little: the plugin asks before all else."""

import os
from urllib.parse import urlsplit

from evals.errors import ConfigError
from evals.untrusted import for_terminal


def api_key_text() -> str | None:
    """Return the key that makes ``--judge auto`` live, or None; an empty variable is none."""
    key = os.environ.get("ANTHROPIC_API_KEY", "").strip()
    return key or None


def base_url_in_environment() -> str | None:
    """Return the Messages API server to use instead of the default one, or None.

    Raises:
        ConfigError: it is not an HTTP address, or holds more than one.
    """
    url = os.environ.get("ANTHROPIC_BASE_URL", "").strip()
    if not url:
        return None
    fault = _fault_in(url)
    if fault is not None:
        raise ConfigError(
            "ANTHROPIC_BASE_URL",
            fault,
            "the address of a Messages API server and no more: http://host or https://host,"
            " with a port and a path where it has them",
            "Correct the variable, or unset it; a key belongs into ANTHROPIC_API_KEY.",
        )
    return url


def _fault_in(url: str) -> str | None:
    """Return what is wrong with an address, without what may be secret of it; None for nothing."""
    # Whether or not it can be taken apart: before the @ of what is mistyped a password can stand.
    if "@" in url:
        return "an @ in it, as after a user and a password (not shown)"
    if "?" in url or "#" in url:
        return "a query or a fragment (not shown)"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    is_plain = url.isprintable() and " " not in url
    return None if usable and is_plain else for_terminal(repr(url))
