"""The one Jinja environment: autoescaping on, a missing value an error."""

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_FOLDER = Path(__file__).parent / "templates"


def render(name: str, values: dict[str, object]) -> str:
    """Return template ``name`` filled with ``values``; every string is escaped."""
    return _environment().get_template(name).render(values)


def pieces_of(name: str, values: dict[str, object]) -> Iterator[str]:
    """Yield template ``name`` filled with ``values``, as ``render`` gives it, piece by piece.

    An iterator among ``values`` is used up as the template comes to it.
    """
    return _environment().get_template(name).generate(values)


def load_templates() -> None:
    """Compile every template (a tenth of a second), before the first page is wanted."""
    for name in _environment().list_templates(extensions=("j2",)):
        _environment().get_template(name)


@cache
def own_text(name: str) -> Markup:
    """Return one of the project's own style sheets or scripts, which stand in a page as they are.

    Its file is part of this project; text from a trace or a judge never comes this way.
    """
    text = (_FOLDER / name).read_text(encoding="utf-8")
    assert "</" not in text, f"{name} could close its own element"
    return Markup(text)  # noqa: S704


def script_hash(script: str) -> str:
    """Return the Content-Security-Policy source that allows exactly this inline script."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
