"""AlphaFold 3's input: the proteins that need an alignment, and where the alignments go."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from swdual.errors import InputError
from swdual.io.endings import find_ending
from swdual.io.input import read_small

DIALECT = "alphafold3"

MAX_BYTES = 1 << 30

GIVEN = ("unpairedMsa", "unpairedMsaPath", "pairedMsa", "pairedMsaPath")
"""What a protein has whose alignment is given."""


@dataclass(frozen=True, eq=False)
class AlphaFoldInput:
    """An input of AlphaFold 3: see its docs/input.md.

    Parameters
    ----------
    content
        The whole input, as JSON has it.
    """

    content: dict[str, Any]

    @staticmethod
    def is_one(path: str | os.PathLike[str]) -> bool:
        """Return whether a file is an input of AlphaFold 3, by its name."""
        return find_ending(path) == ".json"

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> AlphaFoldInput:
        """Return the input in a file.

        Raises
        ------
        InputError
            If it cannot be read, is of another dialect, or all proteins have an alignment.
        """
        text = read_small(path, MAX_BYTES)
        try:
            content = json.loads(text)
        except ValueError as error:
            raise InputError(f"is no JSON: {error}", file=path) from error
        if isinstance(content, list):
            raise InputError(
                "is a list of jobs of AlphaFold's server; write each one as an input of "
                "AlphaFold 3, or give the sequences as FASTA",
                file=path,
            )
        if not isinstance(content, dict) or content.get("dialect") != DIALECT:
            raise InputError(
                f'is no input of AlphaFold 3: expected an object with "dialect": "{DIALECT}"',
                file=path,
            )
        job = cls(content)
        try:
            queries = job.queries()
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                'is no input of AlphaFold 3: expected "sequences", each with one of "protein", '
                '"rna", "dna" and "ligand", and of proteins "id" and "sequence"',
                file=path,
            ) from error
        if not queries:
            raise InputError(
                "has no protein without alignment; AlphaFold 3 wants both unpairedMsa and "
                "pairedMsa, or neither: leave them out to have them made",
                file=path,
            )
        return job

    def queries(self) -> list[tuple[str, str]]:
        """Return identifier and residues of each sequence that needs an alignment, each once."""
        found: dict[str, str] = {}
        for protein in _list_proteins(self.content):
            found.setdefault(protein["sequence"].upper(), _list_ids(protein)[0])
        return [(name, sequence) for sequence, name in found.items()]

    def ids_of(self, sequence: str) -> list[str]:
        """Return the identifiers of the chains that have a sequence.

        Raises
        ------
        InputError
            If none has it.
        """
        found = [
            name
            for protein in _list_proteins(self.content)
            if protein["sequence"].upper() == sequence
            for name in _list_ids(protein)
        ]
        if not found:
            raise InputError(
                "no protein of AlphaFold's input has the sequence that was searched with; leave "
                "out `query_loc`"
            )
        return found

    def fill(self, describe: Callable[[str], dict[str, str] | None]) -> dict[str, Any]:
        """Return the content with alignments.

        Parameters
        ----------
        describe
            Returns what is said of the protein with a sequence.
        """
        content = copy.deepcopy(self.content)
        for protein in _list_proteins(content):
            protein.update(describe(protein["sequence"].upper()) or {})
        return content


def _list_proteins(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the proteins without alignment."""
    for entity in content["sequences"]:
        protein = entity.get("protein")
        if protein is not None and all(protein.get(name) is None for name in GIVEN):
            yield protein


def _list_ids(protein: dict[str, Any]) -> list[str]:
    ids = protein["id"]
    return [ids] if isinstance(ids, str) else [*ids]
