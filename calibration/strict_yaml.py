"""YAML for hand-written data: only plain values, and nothing that PyYAML would pass over silently.

PyYAML's safe loader keeps the last of two equal keys and follows aliases, with which a small file
can stand for a huge or an endless one; both are refused here, as is deep nesting.
"""

from pathlib import Path
from typing import Any

import yaml

from evals.errors import CalibrationError
from evals.untrusted import for_terminal

MAX_DEPTH = 20
"""Levels of nesting; the gallery has six."""


def read_yaml(path: Path) -> Any:
    """Return the one document of a YAML file: dict, tuple, str, float, int, bool, datetime, None.

    Raises:
        CalibrationError: no such file, not UTF-8, not YAML, or one of the things refused here.
    """
    todo = "Correct the file; calibration/specimens.yaml shows the form."
    try:
        return yaml.load(path.read_text(encoding="utf-8-sig"), Loader=_StrictLoader)  # noqa: S506  a SafeLoader
    except OSError as error:
        raise CalibrationError(
            str(path), str(error), "a readable file", "Name a gallery with --gallery."
        ) from error
    except UnicodeDecodeError as error:
        raise CalibrationError(
            str(path), f"a byte that is not UTF-8 at {error.start}", "UTF-8 text", todo
        ) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        found = for_terminal(error.problem or "unreadable YAML")
        raise CalibrationError(where, found, "plain YAML", todo) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2026-02-31
        raise CalibrationError(str(path), for_terminal(str(error)), "plain YAML", todo) from error


class _StrictLoader(yaml.SafeLoader):
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave it out
        if isinstance(event, yaml.AliasEvent):
            raise _refusal("an alias (*): write the value out", event.start_mark)
        if self.depth == MAX_DEPTH:
            raise _refusal(f"more than {MAX_DEPTH} levels of nesting", event.start_mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def read_mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _refusal(f"the key {key!r}, which is no text", key_node.start_mark)
            if key in mapping:
                raise _refusal(f"the key {key!r} twice", key_node.start_mark)
            mapping[key] = self.construct_object(value_node, deep=True)
        return mapping

    def read_sequence(self, node: yaml.SequenceNode) -> tuple[Any, ...]:
        return tuple(self.construct_sequence(node, deep=True))


def _refusal(problem: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


_StrictLoader.add_constructor("tag:yaml.org,2002:map", _StrictLoader.read_mapping)
_StrictLoader.add_constructor("tag:yaml.org,2002:seq", _StrictLoader.read_sequence)
