"""BLAST databases of version 4 and 5: makeblastdb's volumes and alias files."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from swdual.database.layout import MAX_MASKS
from swdual.database.reader import OtherDatabase
from swdual.database.readers._alias import KINDS, choose_kind, find_base, find_volumes
from swdual.database.readers._records import check_type
from swdual.database.readers._volume import Volume
from swdual.sequences.alphabet import ALPHABETS, Alphabet
from swdual.sequences.sequence import Batch
from swdual.sequences.validation import OnInvalid
from swdual.text.messages import pluralize, quote, sanitize

logger = logging.getLogger("swdual")


def detect(path: str) -> bool:
    """Return whether a path is the name of a BLAST database, or one of its files."""
    return find_base(path) is not None


def open_database(path: str, dbtype: str) -> OtherDatabase:
    """Return a BLAST database.

    Parameters
    ----------
    path
        Its name, or its index or alias file.
    dbtype
        "prot", "nucl" or "auto".

    Raises
    ------
    DatabaseError, InputError
        If it is damaged, of another version or type, or a part of a database.
    """
    base = find_base(path) or path
    alphabet = ALPHABETS[choose_kind(path, base, dbtype)]
    check_type(path, alphabet, dbtype)
    title, places = find_volumes(base, KINDS[alphabet.name])
    volumes = [Volume(place, alphabet) for place in places]
    names = list(dict.fromkeys(name for volume in volumes for name in volume.masks.values()))
    if len(names) > MAX_MASKS:
        left_out = ", ".join(map(quote, names[MAX_MASKS:]))
        logger.warning("%s: has more than %d masks; left out: %s", path, MAX_MASKS, left_out)

    def read(
        _alphabet: Alphabet, _on_invalid: OnInvalid, masks: tuple[str, ...]
    ) -> Iterator[Batch]:
        empty = 0
        for volume in volumes:
            records = 0
            for batch in volume.batches(masks):
                records += len(batch.lengths)
                if len(batch.lengths):
                    yield batch
            empty += volume.sequences - records
        if empty:
            left_out = pluralize(empty, "empty record", "empty records")
            logger.warning("%s: %s left out", path, left_out)

    version = "/".join(map(str, sorted({volume.version for volume in volumes})))
    count = pluralize(len(volumes), "volume", "volumes")
    return OtherDatabase(
        name=path,
        kind=f"BLAST database of version {version}, {count}",
        title=sanitize(volumes[0].title if title is None else title),
        alphabet=alphabet,
        sequences=sum(volume.sequences for volume in volumes),
        residues=sum(volume.residues for volume in volumes),
        longest=max(volume.longest for volume in volumes),
        files=tuple(file for volume in volumes for file in volume.files),
        read=read,
        masks=tuple(names[:MAX_MASKS]),
    )
