"""AlphaFold 3's input: JSON whose ``unpairedMsa`` has the rows of each protein."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from swdual.io.file_kind import JSON as KIND
from swdual.multiple_alignment.alphafold_input import DIALECT, AlphaFoldInput
from swdual.multiple_alignment.multiple_alignment import Complex

__all__ = ["KIND", "describe_chain", "files"]

VERSION = 1
"""Of AlphaFold 3's format: the first one has all that is written."""


def files(alignments: Complex) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the only file. See `AlignmentFormat.files`."""
    content = _make_job(alignments) if alignments.job is None else alignments.job.content
    places = {chain.query: place for place, chain in enumerate(alignments.chains)}

    def describe(sequence: str) -> dict[str, str] | None:
        return describe_chain(alignments, places[sequence]) if sequence in places else None

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


def describe_chain(alignments: Complex, place: int) -> dict[str, str]:
    """Return what the input says of the alignment of a protein.

    The rows of pairs come first, in the same order in all chains, with gaps where a chain has none:
    AlphaFold 3 joins rows of ``unpairedMsa`` by their places (docs/input.md, "MSA Pairing"), and
    asks for ``--resolve_msa_overlaps=false`` then.

    Parameters
    ----------
    alignments, place
        The complex, and the place of the chain.
    """
    chain = alignments.chains[place]
    rows = [(chain.titles[0], chain.rows[0])]
    rows += alignments.paired_rows(place)
    rows += alignments.unpaired_rows(place)
    text = "".join(f">{title}\n{row.decode()}\n" for title, row in rows)
    return {"unpairedMsa": text, "pairedMsa": ""}


def _letters() -> Iterator[str]:
    """Yield identifiers of chains: A to Z, then AA, BA and so on, as AlphaFold's server does."""
    number = 0
    while True:
        name, rest = "", number
        while rest >= 0:
            name += chr(ord("A") + rest % 26)
            rest = rest // 26 - 1
        yield name
        number += 1
