"""AlphaFold 3's input: JSON whose ``unpairedMsa`` has the rows of each protein.

The rows of pairs come first, in the same order in all chains, with gaps where a chain has none:
AlphaFold 3 joins rows of ``unpairedMsa`` by their places (docs/input.md, "MSA Pairing"), and asks
for ``--resolve_msa_overlaps=false`` then.
"""

from __future__ import annotations

import itertools
import json
import string
from collections.abc import Iterator
from typing import Any

from swdual.errors import InputError
from swdual.io.file_kind import JSON as KIND
from swdual.multiple_alignment.alphafold_input import DIALECT, AlphaFoldInput
from swdual.multiple_alignment.multiple_alignment import Complex

__all__ = ["KIND", "files"]

VERSION = 1
"""Of AlphaFold 3's format: the first one has all that is written."""


def files(alignments: Complex) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the only file. See `AlignmentFormat.files`."""
    content = _make_job(alignments) if alignments.job is None else alignments.job.content
    places = {chain.query: place for place, chain in enumerate(alignments.chains)}

    def describe(sequence: str) -> dict[str, str]:
        place = places.get(sequence)
        if place is None:
            raise InputError(
                "a protein of AlphaFold's input has no alignment; give the alignments of all"
            )
        chain = alignments.chains[place]
        rows = [(chain.titles[0], chain.rows[0])]
        rows += alignments.paired_rows(place)
        rows += alignments.unpaired_rows(place)
        text = "".join(f">{title}\n{row.decode()}\n" for title, row in rows)
        return {"unpairedMsa": text, "pairedMsa": ""}

    yield "", iter([json.dumps(AlphaFoldInput(content).fill(describe), indent=2)])


def _make_job(alignments: Complex) -> dict[str, Any]:
    sequences = []
    letters = _letters()
    for place, chain in enumerate(alignments.chains):
        ids = [next(letters) for _ in alignments.names[place]]
        protein = {"id": ids if len(ids) > 1 else ids[0], "sequence": chain.query}
        sequences.append({"protein": protein})
    return {
        "name": "_".join(name for names in alignments.names for name in names),
        "modelSeeds": [1],
        "sequences": sequences,
        "dialect": DIALECT,
        "version": VERSION,
    }


def _letters() -> Iterator[str]:
    """Yield identifiers of chains: A to Z, then AA, BA and so on, as AlphaFold's server does."""
    for length in itertools.count(1):
        for letters in itertools.product(string.ascii_uppercase, repeat=length):
            yield "".join(reversed(letters))
