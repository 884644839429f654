"""Prompt files: ``prompts/<name>.system.md`` and ``prompts/<name>.user.md``, hashed together."""

import hashlib
import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evals.errors import PromptError

PROMPTS_DIR = Path(__file__).parents[2] / "prompts"


@dataclass(frozen=True)
class Prompt:
    """One prompt as it stands on disk."""

    name: str
    """Path below ``prompts/`` without the suffixes: ``premise/pass_1``."""
    system: str
    user_template: str
    """``string.Template`` text; its placeholders are the only input of the prompt."""
    prompt_hash: str
    """sha256 over both texts, 64 hex digits (1.5)."""

    def render(self, values: Mapping[str, str]) -> str:
        """Return the user text with every placeholder filled.

        Args:
            values: exactly the placeholders of the template; already made safe by
                ``evals.untrusted.for_prompt``.

        Raises:
            PromptError: a placeholder has no value, or a value has no placeholder.
        """
        template = string.Template(self.user_template)
        wanted = set(template.get_identifiers())
        if not template.is_valid() or wanted != set(values):
            raise PromptError(
                f"prompt {self.name}.user.md",
                f"values for {sorted(values)}",
                f"its placeholders {sorted(wanted)}",
                "Make the template and the code that fills it agree; write a plain $ as $$.",
            )
        return template.substitute(values)


def load_prompt(name: str, folder: Path = PROMPTS_DIR) -> Prompt:
    """Read one prompt.

    Raises:
        PromptError: a file is missing or is not UTF-8.
    """
    texts = []
    for part in ("system", "user"):
        path = folder / f"{name}.{part}.md"
        try:
            texts.append(path.read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError) as error:
            raise PromptError(
                str(path), str(error), "a readable UTF-8 file", "Restore the file from git."
            ) from error
    system, user = texts
    digest = hashlib.sha256(f"{system}\0{user}".encode()).hexdigest()
    return Prompt(name=name, system=system, user_template=user, prompt_hash=digest)
