"""Data flows one way: a layer imports only itself and layers before it (design section 2)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = (
    ("evals",),  # the package's own __init__: the version
    ("evals.errors", "evals.files", "evals.defaults"),
    ("evals.records", "evals.untrusted"),
    ("evals.metrics", "evals.policy"),
    ("evals.environment",),
    ("evals.config",),
    ("evals.traces",),
    ("evals.judging",),
    ("evals.premise", "evals.set_level", "evals.coverage"),
    ("evals.composite",),
    ("evals.runs",),
    ("evals.report",),
    ("calibration",),
    ("evals.judge_process",),
    ("evals.plugin",),
)
RESTRICTED = {
    "pytest": ("evals.plugin",),
    "anthropic": ("evals.judging.sdk",),
    "httpx2": ("evals.judging.sdk",),
    "sqlite3": ("evals.judging.store",),
    "numpy": ("evals.metrics", "evals.coverage.share"),
    "scipy": (),
    "uvloop": ("evals.judge_process.pool",),
    "pygal": ("evals.report.charts",),
    "rapidfuzz": ("evals.set_level.repeats",),
    "dateparser": ("evals.coverage.relative_time",),
}
"""Third-party module -> the only modules (or packages) that may import it."""

MODULES = sorted(
    path
    for folder in ("evals", "calibration")
    for path in (ROOT / folder).rglob("*.py")
    if not path.name.startswith("test_")
)


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def layer_of(module: str) -> int:
    for number, packages in reversed(list(enumerate(LAYERS))):
        if any(is_in(module, package) if number else module == package for package in packages):
            return number
    message = f"{module} belongs to no layer; add it to LAYERS"
    raise AssertionError(message)


def imported_by(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import hides the layer"
            assert node.module is not None
            yield node.module
            # ``from evals import config`` imports a module, not a name.
            for alias in node.names:
                below = f"{node.module}.{alias.name}".replace(".", "/")
                if (ROOT / f"{below}.py").exists() or (ROOT / below).is_dir():
                    yield f"{node.module}.{alias.name}"


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_module_imports_no_later_layer(path: Path) -> None:
    own = layer_of(dotted(path))
    later = [
        name
        for name in imported_by(path)
        if name.split(".")[0] in {"evals", "calibration"} and layer_of(name) > own
    ]
    assert not later, f"{dotted(path)} imports the later layers {later}"


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_module_imports_only_what_is_its_to_import(path: Path) -> None:
    module = dotted(path)
    for name in imported_by(path):
        allowed = RESTRICTED.get(name.split(".")[0])
        if allowed is not None:
            assert any(is_in(module, package) for package in allowed), f"{module} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_one_module_reads_the_environment(path: Path) -> None:
    reads = [
        node.attr
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}
    ]
    assert not reads or dotted(path) == "evals.environment"


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in MODULES
        if {"traces", "judging", "premise", "set_level", "coverage", "calibration"}
        & set(path.parts)
    ],
    ids=dotted,
)
def test_no_parser_fills_a_missing_answer_with_a_default(path: Path) -> None:
    filled = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and len(node.args) == 2
    ]
    assert not filled, f"two-argument .get in {path.name}, lines {filled}"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "evals").rglob("test_*.py")), ids=lambda path: path.name
)
def test_evaluations_are_short_and_imported_by_nobody(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 60
    importers = [module for module in MODULES if dotted(path) in set(imported_by(module))]
    assert not importers
