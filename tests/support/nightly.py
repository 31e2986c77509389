"""Which tests are slow, and which of them a change needs.

Two files say so, which ``.ci/nightly`` writes after all tests have passed
(``python tests/support/nightly.py QUICK SLOW`` with the two tables of `support.clock`):

``tests/slow.tsv``
    The tests that took long, each with its tier. `slow`: it is not among the quick tests.
    `nightly`: only changes of what it depends on need it. `examples`: it is quick, but so many
    random examples as ``pytest -m ""`` tries are nightly.
``tests/nightly.json``
    Digests of the files and folders that nightly tests depend on.

Where ``SWDUAL_TEST_NIGHTLY=changed`` is set, a nightly test is left out unless its own file, or one
that it depends on, has another digest than in the last run of ``.ci/nightly``. A test depends on
the folder of the package that its own folder is named after (`DEPENDS` names the exceptions), or on
what its marker ``nightly(paths)`` names. Of the modules of a package only the code counts, without
comments and docstrings; but all of ``swdual`` counts for the tests of pages, and all of a package
in `WHOLE` for its own.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Collection
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests" / "nightly.json"
RULES = ROOT / "tests" / "README.md"
SLOW = ROOT / "tests" / "slow.tsv"
RESULTS = ROOT / "bench" / "results"
"""What scripts wrote: no digest depends on it."""

WHOLE = ("swdual/cli",)
"""Packages whose docstrings are shown by what they do: the help of commands."""

SLOW_SECONDS, NIGHTLY_SECONDS = 0.15, 0.7
"""A test that takes longer, of the CPU or of the clock, is slow, or nightly."""

ONLY_SECONDS = 0.5
"""The fastest case of a test is quick if it takes less than this, or if a rule names the test."""

QUICK_PART = 0.2
"""The part of the random examples that the quick tests try."""

STEADY = 0.5
"""A test leaves its tier if it takes less than this part of the limit."""

DEPENDS = {
    "swdual": (),
    "bench": ("bench",),
    "tests/fuzz": ("tests/fuzz", "swdual/io"),
    "tests/kernels": ("tests/kernels", "kernels", "swdual/backends/cuda"),
    "tests/oracles": ("tests/oracles", "tests/golden"),
    "tests/request": ("swdual/request", "swdual/master"),
    "tests/report": ("swdual/report", "swdual/auditing", "swdual/scheduling/reports"),
    "tests/test_clock.py": ("tests/support",),
    "tests/test_frameshift.py": ("swdual/alignment", "swdual/lanes"),
    "tests/test_notebook.py": ("docs", "swdual/results", "swdual/scheduling"),
    "tests/test_packages.py": ("docs/packages", "pyproject.toml", "swdual/cli"),
    "tests/test_pages.py": ("docs", "README.md", "swdual/cli"),
    "tests/test_tiers.py": ("tests/support",),
    "tests/test_translated.py": ("swdual/alignment", "swdual/composition", "swdual/statistics"),
}
"""What tests depend on, besides their own file; others of ``tests/`` itself on all of swdual."""


def depends(file: str) -> tuple[str, ...]:
    """Return the files and folders that the tests in a file depend on, besides the file.

    >>> depends("tests/master/test_merge.py"), depends("tests/test_site.py")
    (('swdual/master',), ('swdual',))
    """
    parts = file.split("/")
    for place in ("/".join(parts[:2]), parts[0]):
        if place in DEPENDS:
            return DEPENDS[place]
    return (f"swdual/{parts[1]}" if len(parts) > 2 else "swdual",)


def code_of(text: str) -> str:
    """Return a module without docstrings, lines that are comments, and empty lines.

    >>> code_of("# One.\\n\\ndef f():\\n    'Help.'\\n    return '''\\n# 1'''\\n")
    "def f():\\n    return '''\\n# 1'''"
    """
    lines = text.splitlines()
    kept, left_out = set[int](), set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                left_out.update(range(node.lineno - 1, node.end_lineno))
        elif isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno > node.lineno:
            kept.update(range(node.lineno, node.end_lineno))
    for number, line in enumerate(lines):
        if number not in kept and (not line or line.lstrip().startswith("#")):
            left_out.add(number)
    return "\n".join(line for k, line in enumerate(lines) if k not in left_out)


@cache
def digest(path: str) -> str:
    """Return a digest of a file, or of all files of a folder, of the project."""
    whole = ROOT / path
    files = [whole] if whole.is_file() else sorted(whole.rglob("*"))
    is_package = path.startswith("swdual/") and whole.is_dir() and path not in WHOLE
    state = hashlib.sha256()
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts and RESULTS not in file.parents:
            content = file.read_bytes()
            if is_package and file.suffix == ".py":
                content = code_of(content.decode()).encode()
            state.update(f"{file.relative_to(ROOT)}\0{len(content)}\0".encode() + content)
    return state.hexdigest()[:16]


@cache
def kept() -> dict[str, str]:
    """Return the digest of each path at the last nightly run."""
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def is_changed(paths: tuple[str, ...]) -> bool:
    """Return whether one of some files or folders has changed since the last nightly run."""
    return any(kept().get(path) != digest(path) for path in paths)


@cache
def tiers() -> dict[str, str]:
    """Return the tier of each test that took long in the last nightly run."""
    rows = SLOW.read_text().splitlines() if SLOW.exists() else []
    return dict(row.split("\t") for row in rows)


def rules() -> list[tuple[str, str]]:
    """Return the tests of each rule in tests/README.md: a quick one and a thorough one."""
    rows = (row.strip("|").split("|") for row in RULES.read_text().splitlines())
    cells = ([cell.strip(" `") for cell in row] for row in rows)
    return [(row[1], row[2]) for row in cells if len(row) == 3 and "::" in row[1]]


def choose_tiers(
    seconds: dict[str, float],
    more: dict[str, float],
    before: dict[str, str],
    rule_tests: Collection[str] = (),
    quick_tests: Collection[str] = (),
) -> dict[str, str]:
    """Return the tier of each test that is not quick.

    Parameters
    ----------
    seconds
        What each test takes, if it is quick with few random examples.
    more
        What each quick test takes with as many examples as ``pytest -m ""`` tries.
    before
        The tiers so far. A test that is near a limit keeps its own, so that no two runs differ.
    rule_tests
        Tests that keep a quick case, however long it takes: the quick ones of `rules`.
    quick_tests
        Tests that ran as quick ones. A case that did not may be left out for another reason than
        its time, such as a sample. So the quick case that a test keeps is one of these, if any.
    """
    fastest: dict[str, str] = {}
    for test, took in seconds.items():
        name = test.partition("[")[0]
        other = fastest.setdefault(name, test)
        if (test not in quick_tests, took) < (other not in quick_tests, seconds[other]):
            fastest[name] = test

    def is_longer(took: float, limit: float, *kept: str) -> bool:
        return took > (limit * STEADY if before.get(test) in kept else limit)

    found = {}
    for test, took in seconds.items():
        name = test.partition("[")[0]
        is_fastest = fastest[name] == test
        if is_fastest and name in rule_tests:
            took = 0.0
        if is_longer(took, NIGHTLY_SECONDS, "nightly"):
            found[test] = "nightly"
        elif is_longer(took, ONLY_SECONDS if is_fastest else SLOW_SECONDS, "nightly", "slow"):
            found[test] = "slow"
        elif is_longer(more.get(test, 0.0), NIGHTLY_SECONDS, "examples"):
            found[test] = "examples"
    return found


def read_seconds(table: Path, part: float = 1.0) -> dict[str, float]:
    """Return the longer of the two times of each test in a table of `support.clock`.

    Without the time of compiling: the first test that needs a kernel pays for it.

    Parameters
    ----------
    table
        The file.
    part
        The part of the examples that is meant. A test whose examples are scaled takes this part.
    """
    rows = (row.split("\t") for row in table.read_text().splitlines()[1:])
    return {
        test: (max(float(cpu), float(wall)) - float(compiling)) * (part if scaled == "yes" else 1)
        for test, cpu, wall, compiling, scaled in rows
    }


def marked_paths() -> set[str]:
    """Return the paths that markers name, and the files of tests with such markers."""
    found = set()
    for file in sorted([*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("bench/**/test_*.py")]):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.nightly":
                found |= {ast.literal_eval(each) for each in node.args}
                found.add(file.relative_to(ROOT).as_posix())
    return found


def all_paths() -> set[str]:
    """Return the paths that nightly tests depend on."""
    files = {test.partition("::")[0] for test, tier in tiers().items() if tier != "slow"}
    return marked_paths().union(files, *map(depends, files))


if __name__ == "__main__":
    quick, slow = map(Path, sys.argv[1:])
    quick_tests = read_seconds(quick)
    few = read_seconds(slow, QUICK_PART) | quick_tests
    rule_tests = {f"tests/{quick_test}" for quick_test, _ in rules()}
    chosen = choose_tiers(few, read_seconds(slow), tiers(), rule_tests, quick_tests)
    SLOW.write_text("".join(f"{test}\t{tier}\n" for test, tier in sorted(chosen.items())))
    tiers.cache_clear()
    digests = {path: digest(path) for path in sorted(all_paths())}
    KEPT.write_text(json.dumps(digests, indent=1) + "\n")
