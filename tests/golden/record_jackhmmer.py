"""Writes `jackhmmer.json.gz`: the alignments that jackhmmer makes of the queries in `data/`.

Run it in the checkout: ``python tests/golden/record_jackhmmer.py``. Needs HMMER 3.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import tempfile
from pathlib import Path

from Bio import AlignIO

GOLDEN = Path(__file__).parent
DATA = GOLDEN.parent.parent / "data"
LIMITS = ("-E", "--domE", "--incE", "--incdomE")


def main() -> None:
    """Run jackhmmer in three rounds, with hits up to E = 0.001."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "found.sto")
        limits = [word for name in LIMITS for word in (name, "0.001")]
        command = ["jackhmmer", "-N", "3", "--cpu", "1", *limits, "-A", path]
        command += [DATA / "queries.fasta", DATA / "proteins.fasta"]
        subprocess.run([*map(str, command)], check=True, stdout=subprocess.DEVNULL)
        found = {}
        for alignment in AlignIO.parse(path, "stockholm"):
            query, *rows = alignment
            # Of each row, the columns in which it or the query has a residue.
            found[query.id] = [
                [row.id.split("/")[0], *_without_empty(str(query.seq), str(row.seq))]
                for row in rows
            ]
    text = json.dumps(found)
    (GOLDEN / "jackhmmer.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def _without_empty(*texts: str) -> list[str]:
    columns = [pair for pair in zip(*texts, strict=True) if set(pair) - set("-.")]
    return ["".join(column).upper().replace(".", "-") for column in zip(*columns, strict=True)]


if __name__ == "__main__":
    main()
