"""The cases of a run by pytest node id: what the selected suites make of the input files."""

from collections.abc import Iterable
from functools import cached_property

from evals.config import RunConfig
from evals.judge_process.suites import SUITES, CasesByTest, Inputs, Suite
from evals.judging.case import Case


def suites_at(paths: Iterable[str]) -> tuple[Suite, ...]:
    """Return the suites whose ``path`` is among ``paths``."""
    wanted = set(paths)
    return tuple(suite for suite in SUITES if suite.path in wanted)


class Catalog:
    """Cases by node id. The same in every process of a run, so that an id is all they exchange."""

    def __init__(self, config: RunConfig, suites: tuple[Suite, ...]) -> None:
        """Take the configuration; nothing is read yet."""
        self.config = config
        self.suites = suites
        self.inputs = Inputs(config)

    def load(self) -> None:
        """Read every input that the suites need.

        Raises:
            EvalError: a trace, gallery or prompt cannot be read.
        """
        self._cases  # noqa: B018  read, and kept

    @property
    def by_path(self) -> dict[str, CasesByTest]:
        """All cases by evaluation file and test function."""
        return {suite.path: cases for suite, cases in self._cases.items()}

    def case(self, node_id: str) -> Case | None:
        """Return the case of a test item, or None for an item that is none of ours."""
        found = self._by_node_id.get(node_id)
        return None if found is None else found[1]

    def suite(self, node_id: str) -> Suite:
        """Return the suite of a test item that has a case."""
        return self._by_node_id[node_id][0]

    @property
    def case_ids(self) -> dict[str, dict[str, list[str]]]:
        """The ids of all cases, by evaluation file and test function."""
        return {
            suite.path: {
                test: [case.case_id for case in cases] for test, cases in cases_by_test.items()
            }
            for suite, cases_by_test in self._cases.items()
        }

    @property
    def node_ids(self) -> tuple[str, ...]:
        """Every item that the suites can have, before any selection."""
        return tuple(self._by_node_id)

    @cached_property
    def _cases(self) -> dict[Suite, CasesByTest]:
        return {suite: suite.cases(self.inputs) for suite in self.suites}

    @cached_property
    def _by_node_id(self) -> dict[str, tuple[Suite, Case]]:
        return {
            f"{suite.path}::{test}[{case.case_id}]": (suite, case)
            for suite, cases_by_test in self._cases.items()
            for test, cases in cases_by_test.items()
            for case in cases
        }
