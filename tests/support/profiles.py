"""PSI-BLAST's profiles of sample sequences: see golden/README.md."""

from __future__ import annotations

import csv
import gzip
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from swdual.profiles.letters import EMPTY
from swdual.profiles.rows import read_row

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = ("query1", "glycine")
THRESHOLD = 0.002


class Recorded(NamedTuple):
    """What psiblast wrote: its checkpoint file, its table, and the rows of its alignments."""

    asn1: str
    table: str
    hits: list[dict[str, str]]

    def rows(self, length):
        """Return the rows of the hits that went into the profile."""
        rows = []
        for hit in self.hits:
            if float(hit["evalue"]) < THRESHOLD:
                row = np.full(length, EMPTY, np.uint8)
                pairs = zip(hit["qseq"], hit["sseq"], strict=True)
                shown = "".join(letter for aligned, letter in pairs if aligned != "-")
                start = int(hit["qstart"]) - 1
                row[start : start + len(shown)] = np.frombuffer(read_row(shown), np.uint8)
                rows.append(row)
        return np.array(rows)


@cache
def recorded(name):
    """Return what psiblast wrote about a query."""
    asn1, table = (
        gzip.decompress((GOLDEN / f"pssm_{name}.{kind}.gz").read_bytes()).decode()
        for kind in ("asn", "pssm")
    )
    lines = (GOLDEN / f"pssm_{name}.tsv").read_text().splitlines()
    rows = csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t")
    return Recorded(asn1, table, [*rows])


def same_digits(one, other):
    """Return whether two numbers agree in the 15 digits that psiblast writes."""
    return f"{one:.14e}" == f"{other:.14e}"
