"""The table of cases in tests/README.md: its last column is counted from the markers of tests.

``python tests/support/cases.py`` writes this column anew. A test that provokes case 12 has the
marker ``@pytest.mark.case(number=12)``; ``pytest -m 'case(number=12)'`` runs the tests of a case.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
README = TESTS / "README.md"
ROW = re.compile(
    r"^\| (?P<number>\d+) \| (?P<case>.+?) \| (?P<codes>.+?) \| (?P<tests>.*?) \|$", re.M
)


@cache
def marked_tests() -> dict[int, Counter[str]]:
    """Return of each case the files with tests that have its marker, and the numbers of tests."""
    tests: dict[int, Counter[str]] = defaultdict(Counter)
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for decorator in getattr(node, "decorator_list", ()):
                text = ast.unparse(decorator)
                if match := re.fullmatch(r"pytest\.mark\.case\(number=(\d+)\)", text):
                    tests[int(match[1])][path.relative_to(TESTS).as_posix()] += 1
    return tests


def with_tests(text: str) -> str:
    """Return the text of README.md with the last column of its table as the markers say."""
    tests = marked_tests()

    def row(match: re.Match[str]) -> str:
        number, case, codes, _ = match.groups()
        files = tests[int(number)].items()
        cell = ", ".join(
            f"`{path}`" + (f" ({count})" if count > 1 else "") for path, count in files
        )
        return f"| {number} | {case} | {codes} | {cell} |"

    return ROW.sub(row, text)


if __name__ == "__main__":
    README.write_text(with_tests(README.read_text()))
