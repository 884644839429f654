"""The cases of a run by pytest node id: what the selected suites make of the input files."""

from functools import cached_property

from evals.config import RunConfig
from evals.judge_process.inputs import Inputs
from evals.judge_process.suites import CasesByTest, Suite
from evals.judging.case import Case


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

    def case(self, node_id: str) -> Case | None:
        """Return the case of a test item, or None for an item that is none of ours."""
        return self._by_node_id.get(node_id)

    def knows(self, node_id: str) -> bool:
        """Tell whether a test item has a case."""
        return node_id in self._suites

    def suite(self, node_id: str) -> Suite:
        """Return the suite of a test item that has a case."""
        return self._suites[node_id]

    @cached_property
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
        return tuple(self._suites)

    def let_go(self) -> None:
        """Keep what the cases are called, and neither them nor what they were read from.

        Whatever asks for a case or a window after that reads all of them again.
        """
        self.case_ids, self._suites  # noqa: B018  made, and kept
        for name in ("_cases", "_by_node_id"):
            self.__dict__.pop(name, None)
        self.inputs = Inputs(self.config)

    @cached_property
    def _cases(self) -> dict[Suite, CasesByTest]:
        return {suite: suite.cases(self.inputs) for suite in self.suites}

    @cached_property
    def _suites(self) -> dict[str, Suite]:
        suites = {suite.path: suite for suite in self.suites}
        return {
            _node_id(path, test, case_id): suites[path]
            for path, ids_by_test in self.case_ids.items()
            for test, ids in ids_by_test.items()
            for case_id in ids
        }

    @cached_property
    def _by_node_id(self) -> dict[str, Case]:
        return {
            _node_id(suite.path, test, case.case_id): case
            for suite, cases_by_test in self._cases.items()
            for test, cases in cases_by_test.items()
            for case in cases
        }


def _node_id(path: str, test: str, case_id: str) -> str:
    return f"{path}::{test}[{case_id}]"
