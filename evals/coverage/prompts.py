"""The six prompts of the coverage bench, read once a run."""

from dataclasses import dataclass, fields

from evals.judging.prompts import PROMPTS_DIR, Prompt, load_prompt


@dataclass(frozen=True)
class CoveragePrompts:
    """The prompts of the coverage bench."""

    gold: Prompt
    matching: Prompt
    topics: Prompt
    question_generation: Prompt
    answering: Prompt
    comparison: Prompt

    def hashes(self) -> dict[str, str]:
        """Return prompt name -> hash, for provenance (4.2)."""
        prompts = [getattr(self, field.name) for field in fields(self)]
        return {prompt.name: prompt.prompt_hash for prompt in prompts}


def load_coverage_prompts() -> CoveragePrompts:
    """Read the six prompts from ``prompts/coverage/``.

    Raises:
        PromptError: a file is missing or is not UTF-8.
    """
    return CoveragePrompts(
        **{
            field.name: load_prompt(f"coverage/{field.name}", PROMPTS_DIR)
            for field in fields(CoveragePrompts)
        }
    )
