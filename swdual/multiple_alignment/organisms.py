"""The organism of a sequence: its taxonomy id, or what its header line says."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TAXID = re.compile(r"\b(?:OX=|TaxID=|taxid[:=|])(\d+)\b")
"""UniProt's OX=9606, UniRef's TaxID=9606, and taxid:9606 of others."""

_MNEMONIC = re.compile(r"(?:sp|tr)\|[A-Z0-9.-]+(?:_\d+)?\|[A-Z0-9]+_([A-Z0-9]{1,5})\b")
"""UniProt's names of entries, such as sp|P69905|HBA_HUMAN."""

_REPRESENTATIVE = re.compile(r"\bRepID=[A-Z0-9-]+_([A-Z0-9]{3,5})\b")
"""The representative of a cluster of UniRef. TaxID is the common ancestor of all members."""


def find_organism(title: str, taxids: Sequence[int] = ()) -> str:
    """Return what identifies the organism of a sequence, or "" if nothing does.

    Rows of two chains are paired where this is equal. AlphaFold-Multimer takes the mnemonic of
    UniProt's names of entries (Evans et al. 2021, doi:10.1101/2021.10.04.463034).

    Parameters
    ----------
    title
        The header line.
    taxids
        The taxonomy ids that the database has of the sequence. One with several says nothing.

    >>> find_organism("sp|P69905|HBA_HUMAN Hemoglobin OS=Homo sapiens OX=9606 GN=HBA1")
    '9606'
    >>> find_organism("tr|A0A2R8Y7C0|A0A2R8Y7C0_PANTR"), find_organism("a", [10090])
    ('PANTR', '10090')
    """
    if len(taxids) == 1:
        return str(taxids[0])
    for pattern in (_REPRESENTATIVE, _TAXID, _MNEMONIC):
        found = pattern.search(title)
        if found:
            return found[1]
    return ""
