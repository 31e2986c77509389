"""AlphaFold 3's input: the proteins that need an alignment, and where the alignments go."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import xxhash

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
            sequences = job.sequences
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(
                'is no input of AlphaFold 3: expected "sequences", each with one of "protein", '
                '"rna", "dna" and "ligand"; of proteins "id" (a name, or a list of names) and '
                '"sequence" (letters)',
                file=path,
            ) from error
        if not sequences:
            raise InputError(
                "has no protein without alignment; AlphaFold 3 wants both unpairedMsa and "
                "pairedMsa, or neither: leave them out to have them made",
                file=path,
            )
        return job

    @cached_property
    def sequences(self) -> dict[str, list[str]]:
        """The identifiers of the chains that have each sequence that needs an alignment."""
        found: dict[str, list[str]] = {}
        for protein in _list_proteins(self.content):
            ids, sequence = protein["id"], protein["sequence"].upper()
            names = [ids] if isinstance(ids, str) else [*ids]
            if not names or not all(isinstance(name, str) and name for name in names):
                raise ValueError("an identifier")
            if not re.fullmatch("[A-Z]+", sequence):
                raise ValueError("a sequence")
            found.setdefault(sequence, []).extend(names)
        return found

    @property
    def digest(self) -> str:
        """A digest of the whole input."""
        return xxhash.xxh3_128_hexdigest(json.dumps(self.content, sort_keys=True).encode())

    def queries(self) -> list[tuple[str, str]]:
        """Return identifier and residues of each sequence that needs an alignment, each once."""
        return [(names[0], sequence) for sequence, names in self.sequences.items()]

    def ids_of(self, sequence: str) -> list[str]:
        """Return the identifiers of the chains that have a sequence.

        Raises
        ------
        InputError
            If none has it.
        """
        if sequence not in self.sequences:
            raise InputError(
                "no protein of AlphaFold's input has the sequence that was searched with; leave "
                "out `query_loc`"
            )
        return self.sequences[sequence]

    def fill(self, describe: Callable[[str], dict[str, str]]) -> dict[str, Any]:
        """Return the content with alignments.

        Parameters
        ----------
        describe
            Returns what is said of the protein with a sequence.
        """
        content = copy.deepcopy(self.content)
        for protein in _list_proteins(content):
            protein.update(describe(protein["sequence"].upper()))
        return content


def _list_proteins(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the proteins without alignment."""
    for entity in content["sequences"]:
        protein = entity.get("protein")
        if protein is not None and all(protein.get(name) is None for name in GIVEN):
            yield protein
