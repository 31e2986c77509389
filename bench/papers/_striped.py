"""Farrar's striped kernel as a command, as STRIPED is one: that of parasail.

    python bench/papers/_striped.py queries.fasta db.fasta 2 10

Arguments are the files, threads, and how many targets to list for each query, with their scores.
The kernel counts in 8 bits, and again in 16 where these do not suffice.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from heapq import nlargest

GAP_OPEN, GAP_EXTEND = 12, 1
"""parasail's: the first residue of a gap costs 12, as in BLAST's 11/1."""


def read(path: str) -> list[tuple[str, str]]:
    """Return names and letters of a FASTA file."""
    with open(path) as stream:
        records = stream.read().split(">")[1:]
    parts = (record.split("\n", 1) for record in records)
    return [(header.split()[0], letters.replace("\n", "")) for header, letters in parts]


def main(queries: str, database: str, threads: int, hits: int) -> None:
    import parasail

    targets = read(database)
    with ThreadPoolExecutor(threads) as pool:
        for name, letters in read(queries):
            profile = parasail.profile_create_sat(letters, parasail.blosum62)

            def score(part: int, profile: object = profile) -> list[tuple[int, str]]:
                return [
                    (parasail.sw_striped_profile_sat(profile, text, GAP_OPEN, GAP_EXTEND).score, n)
                    for n, text in targets[part::threads]
                ]

            found = [pair for scores in pool.map(score, range(threads)) for pair in scores]
            for points, target in nlargest(hits, found):
                print(name, target, points, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:5]))
