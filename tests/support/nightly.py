"""Which nightly tests a change needs: those of the folders and files that it touches.

A test with the marker ``nightly(paths)`` is left out where ``SWDUAL_TEST_NIGHTLY=changed`` is set,
unless a file in these paths, or its own, is another one than in the last run of ``.ci/nightly``.
That run keeps digests in ``tests/nightly.json``: ``python tests/support/nightly.py`` writes them.
"""

from __future__ import annotations

import ast
import hashlib
import json
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests" / "nightly.json"
RESULTS = ROOT / "bench" / "results"
"""What scripts wrote: no digest depends on it."""


@cache
def digest(path: str) -> str:
    """Return a digest of a file, or of all files of a folder, of the project."""
    whole = ROOT / path
    files = [whole] if whole.is_file() else sorted(whole.rglob("*"))
    state = hashlib.sha256()
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts and RESULTS not in file.parents:
            name = file.relative_to(ROOT)
            state.update(f"{name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return state.hexdigest()[:16]


@cache
def kept() -> dict[str, str]:
    """Return the digest of each path at the last nightly run."""
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def is_changed(paths: tuple[str, ...]) -> bool:
    """Return whether one of some files or folders has changed since the last nightly run."""
    return any(kept().get(path) != digest(path) for path in paths)


def marked_paths() -> set[str]:
    """Return the paths that markers name, and the files of tests with such markers."""
    found = set()
    for file in sorted([*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("bench/**/test_*.py")]):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.nightly":
                found |= {ast.literal_eval(each) for each in node.args}
                found.add(file.relative_to(ROOT).as_posix())
    return found


if __name__ == "__main__":
    digests = {path: digest(path) for path in sorted(marked_paths())}
    KEPT.write_text(json.dumps(digests, indent=1) + "\n")
