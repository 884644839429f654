"""Whether a gold fact licenses anything: one that licenses nothing is no gold (3.1)."""

import string

NO_INFERENCE = "NONE"
"""What ``licensed_inference`` says where the fact licenses nothing."""

_AROUND = f"{string.whitespace}{string.punctuation}\N{HORIZONTAL ELLIPSIS}"


def licenses_nothing(licensed_inference: str) -> bool:
    """Return whether it is blank or NONE, in any case and with any marks around it."""
    return licensed_inference.strip(_AROUND).upper() in {"", NO_INFERENCE}
