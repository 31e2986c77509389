"""The house keeps its order: who imports whom, and who may import what is heavy."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import swdual

PACKAGE = Path(swdual.__file__).parent
ROOT = PACKAGE.parent
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

OWNERS = {
    "numba": {
        *("runtime/codegen.py", "runtime/jit.py"),
        *("lanes/vector.py", "lanes/doubles.py", "lanes/cell.py", "lanes/bound.py"),
    },
    "llvmlite": {
        *("runtime/codegen.py", "runtime/native.py", "runtime/native_code.py"),
        "lanes/vector.py",
    },
    "cupy": {"backends/cuda/cupy_card.py"},
    "pandas": {
        *(
            "auditing/audit.py",
            "results/search_results.py",
            "scheduling/schedule.py",
            "scheduling/reports/comparison.py",
        ),
        *("scheduling/workload/workload.py", "scheduling/frames.py"),
    },
    "polars": {"results/search_results.py"},
    "scipy": {"auditing/intervals.py", "results/search_results.py"},
    "matplotlib": {
        *(
            "multiple_alignment/multiple_alignment.py",
            "results/search_results.py",
            "planning/timing.py",
            "planning/gantt.py",
            "planning/planner.py",
            "scheduling/reports/charts.py",
        ),
        *("scheduling/schedule.py", "prediction/forecast.py"),
    },
    "dask": {"cluster/membership.py"},
    "distributed": {
        *("cluster/connection.py", "cluster/remote.py", "cluster/membership.py"),
        *(
            "cluster/dispatcher.py",
            "cluster/block_transfers.py",
            "cluster/executor.py",
            "cluster/requests.py",
        ),
    },
    "pyarrow": {
        "auditing/audit.py",
        "results/search_results.py",
        "formats/_arrow.py",
        "formats/parquet.py",
        "scheduling/reports/jobs_table.py",
    },
    "Bio": {
        *(
            "results/search_results.py",
            "hits/hit.py",
        ),  # for their types only
        *("hits/query_result.py", "hits/searchio.py", "alignment/alignment.py"),
    },
    "mcp": {"server/agents.py"},
    "pydantic": {"server/agents.py"},
    "starlette": {f"server/{name}.py" for name in ("app", "guard", "problems")},
    "uvicorn": {"server/connections.py", "server/service.py"},
    "httpx": {"server/client.py"},
    "gymnasium": {"scheduling/gym.py"},
    "click": {path for path in FILES if path.startswith("cli/")},
    "rich": {"io/progress.py"},
}
"""Third-party packages and the only files that may import them, anywhere in the file."""

OPTIONAL = ("pandas", "polars", "matplotlib", "pyarrow", "scipy", "cupy")
"""Packages that a plain installation does not have."""


@cache
def imported(path, types=True):
    """Return the modules that a file imports, at its top or inside functions.

    ``from package import module`` counts as an import of the module, too. `types` tells whether
    imports for types alone count.
    """
    tree = ast.parse((PACKAGE / path).read_text())
    if not types:
        tree.body = [
            node
            for node in tree.body
            if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        ]
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return modules


def test_the_import_contracts_are_kept():
    """Imports go down only, and only files that hold kernels import Numba: see pyproject.toml."""
    pytest.importorskip("importlinter")
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("not a checkout: no pyproject.toml beside the package")
    code = (
        "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout
    assert "Imports go down only KEPT" in done.stdout


@pytest.mark.parametrize("package", OWNERS)
def test_only_its_owners_import_a_package(package):
    """What is heavy or replaceable is met in the few files that are made for it."""
    users = {
        path for path in FILES if any(name.split(".")[0] == package for name in imported(path))
    }
    assert users <= OWNERS[package]


@cache
def imported_at_once(path):
    """Return the modules that a file imports when it is loaded."""
    tree = ast.parse((PACKAGE / path).read_text())
    names = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
    return names


def test_imports_have_no_cycles():
    """Neither at the top of files nor inside functions; imports for types alone do not count."""
    names = {path.removesuffix(".py").replace("/", "."): path for path in FILES}
    modules = {f"swdual.{name}".removesuffix(".__init__"): path for name, path in names.items()}
    graph = {}
    for name, path in modules.items():
        users = imported(path, types=False) & modules.keys()
        # A module is loaded after its package, whichever names it imports from there.
        graph[name] = {other for other in users if not f"{name}.".startswith(f"{other}.")}
    assert graph["swdual.api"]
    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("package", OPTIONAL)
def test_what_may_be_missing_is_imported_only_where_it_is_used(package):
    """Inside functions, or for types: nothing else fails where the package is not installed."""
    for path in FILES:
        names = {name.split(".")[0] for name in imported_at_once(path)}
        assert package not in names, path


def test_the_walk_sees_imports_inside_functions():
    """The check above would notice an import that is hidden in a function."""
    assert "pandas" in imported("results/search_results.py")
    assert "numba" in imported("runtime/jit.py")
    assert "pandas" not in imported_at_once("results/search_results.py")
    assert "numba" in imported_at_once("runtime/jit.py")


def test_every_file_that_is_named_an_owner_is_there():
    """The list of owners is no list of files that were."""
    for package, paths in OWNERS.items():
        for path in paths:
            names = {name.split(".")[0] for name in imported(path)} if path in FILES else set()
            assert package in names or package == "click", path


SYSTEMS = re.compile(
    r"sys\.platform|os\.name\b|import (?:fcntl|resource|pwd|grp|msvcrt|winreg|termios|psutil)\b"
    r"|hasattr\((?:os|signal|mmap|select)\b|\b(?:O_NOFOLLOW|O_BINARY|MADV_\w+|SO_REUSEADDR)\b"
    r"|\bos\.(?:replace|rename|pread|pwrite|fork|killpg|sched_\w+|get[eu]*[ug]id|\w+xattr|sysconf)\b"
    r"|select\.poll|signal\.(?:SIGPIPE|SIGKILL|pthread_kill)|[\"'/](?:proc|sys/fs|dev/fd)/"
)
"""How code asks for what differs between Linux, macOS and Windows."""


def test_only_one_module_looks_at_the_system():
    """All others ask it, so that one file tells what differs."""
    looking = {path for path in FILES if SYSTEMS.search((PACKAGE / path).read_text("utf-8"))}
    assert looking == {"runtime/system.py"}


NAMESAKES = {
    "Policy": "each policy of schedules is a plug-in, whose class has this name",
    "Comparison": "of sequences, and in the reference of schedules and of an audited table",
    "Piece": "bytes of a database, and an alignment that may be linked with others",
    "Section": "of a database file, and a table of the text of an audit",
}
"""Names that several public classes have."""


def test_no_two_public_classes_have_one_name():
    classes = Counter(
        node.name
        for file in FILES
        for node in ast.walk(ast.parse((PACKAGE / file).read_text()))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in classes.items() if count > 1} == {*NAMESAKES}


def test_simulators_leave_no_sum_to_blas():
    """It adds in an order of each processor's own, which the last digits of a metric show."""
    files = [file for file in FILES if file.startswith("scheduling/")]
    nodes = {file: [*ast.walk(ast.parse((PACKAGE / file).read_text()))] for file in files}
    assert [file for file in files if any(isinstance(n, ast.MatMult) for n in nodes[file])] == []


def test_no_module_is_a_drawer_for_odds_and_ends():
    """Modules are named after what they hold."""
    stems = {Path(path).stem for path in FILES}
    assert not stems & {"utils", "util", "common", "helpers", "misc", "tools"}
    assert not [path for path in FILES if Path(path).stem.startswith("base")]


@pytest.mark.parametrize("package", sorted(path.parent for path in PACKAGE.rglob("__init__.py")))
def test_a_package_that_lists_its_modules_lists_each(package):
    """None is missing, but where a file is a plug-in; and none is there no more."""
    there = {path.stem for path in package.glob("*.py") if path.stem != "__init__"}
    there |= {path.parent.name for path in package.glob("*/__init__.py")}
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    heads = [line for line in text.splitlines() if line.startswith("``")]
    named = {name for line in heads for name in re.findall("``(.+?)``", line)}
    assert named <= there
    if named and package.name not in ("backends", "planners"):
        assert named == there


def test_the_oracles_share_no_code_with_the_package():
    """What judges the package does not import it."""
    for path in (ROOT / "tests" / "oracles").glob("*.py"):
        names = {
            name
            for node in ast.walk(ast.parse(path.read_text()))
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        assert not [name for name in names if name.split(".")[0] == "swdual"]


def test_no_test_imports_a_test():
    """What tests share is in tests/support, or in a module beside them that has no tests."""
    for path in [ROOT / "conftest.py", *ROOT.glob("tests/**/*.py"), *ROOT.glob("bench/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                folder = ROOT / "tests" / node.module.replace(".", "/")
                inside = [alias.name for alias in node.names] if folder.is_dir() else []
                modules = [node.module, *inside]
            else:
                continue
            stems = {name.rpartition(".")[2] for name in modules}
            assert not [s for s in stems if s.startswith("test_") or s == "conftest"], path
