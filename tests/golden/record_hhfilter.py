"""Writes `hhfilter.json.gz`: which rows of random families HH-suite's hhfilter keeps.

Run it in the checkout: ``python tests/golden/record_hhfilter.py``. The families
are those of `support/families.py`; nothing else of swdual takes part.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

GOLDEN = Path(__file__).parent
NAMES = {"coverage": "-cov", "query_identity": "-qid", "row_identity": "-id", "diff": "-diff"}
CASES = (
    *({"row_identity": identity} for identity in (40, 62, 90)),
    *({"row_identity": identity, "diff": diff} for identity in (70, 90, 99) for diff in (5, 20)),
    *({"row_identity": identity, "diff": 5} for identity in (10, 20)),
    {"row_identity": 90, "coverage": 50},
    {"row_identity": 90, "query_identity": 30},
    {"row_identity": 95, "coverage": 60, "query_identity": 20, "diff": 10},
)


def main() -> None:
    """Run hhfilter on each family, with each set of options."""
    sys.path.insert(0, str(GOLDEN.parent))
    from support.families import family, texts_of

    families = [texts_of(family(seed, rows, length)) for seed, rows, length in SIZES]
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        given, chosen = Path(folder, "in.a3m"), Path(folder, "out.a3m")
        for number, rows in enumerate(families):
            given.write_text("".join(f">{k}\n{row}\n" for k, row in enumerate(rows)))
            for filters in CASES:
                options = [word for name, value in filters.items() for word in (NAMES[name], value)]
                command = ["hhfilter", "-v", "0", "-i", given, "-o", chosen, *options]
                subprocess.run([*map(str, command)], check=True)
                names = [line[1:] for line in chosen.read_text().splitlines() if line[0] == ">"]
                case = {"family": number, "filters": filters, "rows": sorted(map(int, names))}
                kept.append(case)
    text = json.dumps({"families": families, "kept": kept})
    (GOLDEN / "hhfilter.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


SIZES = ((1, 60, 120), (2, 150, 300), (3, 20, 40))
"""Seeds, rows and columns of the families."""

if __name__ == "__main__":
    main()
