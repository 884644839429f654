"""What is wrong with an option, in this project's words and not in pydantic's."""

from typing import get_args

from annotated_types import Ge, Gt, Le
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from evals.config import Limits, RunConfig
from evals.errors import ConfigError
from evals.policy import CoveragePolicy
from evals.untrusted import for_terminal


def option_error(error: ValidationError) -> ConfigError:
    """Return the error for the first option that ``RunConfig`` refused."""
    name, found = _first(error)
    field = {**RunConfig.model_fields, **Limits.model_fields}[name]
    option = f"--{name.removesuffix('_usd').replace('_', '-')}"
    return ConfigError(option, found, wanted_of(field), "Correct the option, or drop it.")


def policy_error(error: ValidationError) -> ConfigError:
    """Return the error for the first setting that ``CoveragePolicy`` refused."""
    name, found = _first(error)
    wanted = wanted_of(CoveragePolicy.model_fields[name])
    return ConfigError(f"--coverage-policy {name}", found, wanted, "Correct the setting.")


def wanted_of(field: FieldInfo) -> str:
    """Return the description of a field, or, of a number, its range: ``a number from 0 to 1``."""
    if field.description is not None:
        return field.description
    is_whole = int in (field.annotation, *get_args(field.annotation))
    bounds = {type(bound): bound for bound in field.metadata}
    if Ge in bounds and Le in bounds:
        kind = "a whole number" if is_whole else "a number"
        return f"{kind} from {bounds[Ge].ge:g} to {bounds[Le].le:g}"
    kind = "a whole number" if is_whole else "a finite number"
    if Ge in bounds:
        return f"{kind} of {bounds[Ge].ge:g} or more"
    return f"{kind} above {bounds[Gt].gt:g}" if Gt in bounds else kind


def _first(error: ValidationError) -> tuple[str, str]:
    first = error.errors(include_url=False)[0]
    name = next(part for part in reversed(first["loc"]) if isinstance(part, str))
    return name, for_terminal(repr(first["input"]))
