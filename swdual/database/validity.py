"""Checks of a database before it is used, as kernels read memory without bounds checks.

Checksums show that a file is as it was written, but not that its writer was correct.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from swdual.database._check import end_of_targets
from swdual.database.layout import (
    GUARD_BYTES,
    INTERVAL_BYTES,
    MAX_MASKS,
    MAX_SHARDS,
    PAGE_BYTES,
    SECTION_TYPES,
    TAXID_ENDS,
    TAXIDS,
    TAXONOMY,
    BlockInfo,
    Manifest,
    Section,
)
from swdual.sequences.alphabet import ALIGNMENT, ALPHABETS, PAD
from swdual.taxonomy.tree import MAX_TAXID

MAX_TARGET_LENGTH = 2**31 - 1 - GUARD_BYTES
"""Residues of a target at most: positions in it are numbers of 32 bits."""

TARGETS_AT_ONCE = 1 << 14
"""Targets that are checked together."""


def find_manifest_fault(manifest: Manifest, end: int) -> str | None:
    """Return what is wrong with a manifest, or None.

    Parameters
    ----------
    manifest
        The manifest.
    end
        The last byte that a section of the file may reach.
    """
    if manifest.alphabet not in ALPHABETS:
        return f"unknown kind of sequences: {manifest.alphabet!r}"
    sections = {section.name: section for section in manifest.sections}
    if len(sections) < len(manifest.sections):
        return "the manifest names a section twice"
    blocks = [block for shard in manifest.shards for block in shard.blocks]
    if manifest.shards and (
        sorted(blocks) != [*range(len(manifest.blocks))]
        or not all(shard.blocks for shard in manifest.shards)
        or len(manifest.shards) > MAX_SHARDS
    ):
        return "the shards do not hold each block once"
    if len(manifest.masks) > MAX_MASKS or len({*manifest.masks}) < len(manifest.masks):
        return "the manifest names too many masks, or one twice"
    for section in manifest.sections:
        home = manifest.homes.get(section.name)
        last = end if home is None else manifest.shards[home].bytes
        if not PAGE_BYTES <= section.offset <= section.offset + section.bytes <= last:
            return f"section {section.name!r} lies outside the file"
        if section.offset % PAGE_BYTES:
            return f"section {section.name!r} does not begin on a page"
    for name, size in _sizes(manifest, sections):
        if name not in sections:
            return f"section {name!r} is missing"
        if sections[name].bytes != size:
            return f"section {name!r} contradicts the header"
    return _find_blocks_fault(manifest)


def _sizes(manifest: Manifest, sections: dict[str, Section]) -> Iterator[tuple[str, int]]:
    """Yield the sections that must exist, with their bytes."""
    for number, info in enumerate(manifest.blocks):
        for name in manifest.kinds:
            place = f"{name}/{number}"
            unit = ALIGNMENT if name == "residues" else INTERVAL_BYTES
            if name in SECTION_TYPES and name != "residues":
                yield place, info.sequences * np.dtype(SECTION_TYPES[name]).itemsize
            elif place not in sections or sections[place].bytes % unit:
                yield place, -1
    yield "offsets", (manifest.sequences + 1) * 8
    if "names" not in sections:
        yield "names", -1
    if any(name in sections for name in (TAXIDS, TAXID_ENDS, TAXONOMY)):
        yield TAXID_ENDS, manifest.sequences * 8
        if TAXIDS not in sections or sections[TAXIDS].bytes % 4:
            yield TAXIDS, -1


def _find_blocks_fault(manifest: Manifest) -> str | None:
    """Return what is wrong with the numbers of the blocks, if anything."""
    blocks = manifest.blocks
    sound = all(
        info.sequences >= 1
        and 1 <= info.shortest <= info.longest <= MAX_TARGET_LENGTH
        and info.sequences * info.shortest <= info.residues <= info.sequences * info.longest
        for info in blocks
    )
    descending = all(a.shortest >= b.longest for a, b in itertools.pairwise(blocks))
    counts = [0, *itertools.accumulate(info.sequences for info in blocks)]
    totals = (
        counts[-1],
        sum(info.residues for info in blocks),
        max((info.longest for info in blocks), default=0),
    )
    if (
        not blocks
        or not sound
        or not descending
        or [info.first for info in blocks] != counts[:-1]
        or totals != (manifest.sequences, manifest.residues, manifest.longest)
    ):
        return "the numbers of the manifest contradict each other"
    return None


def lengths_agree(lengths: NDArray[np.uint32], info: BlockInfo) -> bool:
    """Return whether the lengths of a block are what the manifest says.

    Parameters
    ----------
    lengths
        (targets,) residues.
    info
        What the manifest says of the block.
    """
    return (
        int(lengths[0]) == info.longest
        and int(lengths[-1]) == info.shortest
        and not (lengths[1:] > lengths[:-1]).any()
        and int(lengths.sum(dtype=np.int64)) == info.residues
    )


def block_agrees(
    residues: NDArray[np.uint8],
    starts: NDArray[np.uint32],
    lengths: NDArray[np.uint32],
    ordinals: NDArray[np.uint64],
    manifest: Manifest,
    info: BlockInfo,
    release: Callable[[], None],
) -> bool:
    """Return whether a block is laid out correctly, and holds letters and padding only.

    Parameters
    ----------
    residues, starts, lengths, ordinals
        The arrays of the block: see `Block`.
    manifest, info
        The manifest, and what it says of the block.
    release
        Frees the pages that were read; called after every `TARGETS_AT_ONCE` targets.
    """
    if not lengths_agree(lengths, info) or int(ordinals.max()) >= manifest.sequences:
        return False
    letters = len(ALPHABETS[manifest.alphabet].letters)
    end = 0
    for first in range(0, len(lengths), TARGETS_AT_ONCE):
        here = slice(first, first + TARGETS_AT_ONCE)
        end = end_of_targets(residues, starts[here], lengths[here], end, letters)
        if end < 0:
            return False
        release()
    return end + GUARD_BYTES == len(residues) and bool((residues[end:] == PAD).all())


def intervals_agree(intervals: NDArray[np.uint32], lengths: NDArray[np.uint32]) -> bool:
    """Return whether the intervals of a mask lie in their targets, in order and disjoint.

    Parameters
    ----------
    intervals
        (intervals, 3) number of the target, first letter, and the letter behind the last one.
    lengths
        (targets,) residues.
    """
    targets, starts, ends = intervals.T
    if len(targets) == 0:
        return True
    if int(targets.max()) >= len(lengths) or (starts >= ends).any():
        return False
    same = targets[1:] == targets[:-1]
    return bool(
        (ends <= lengths[targets]).all()
        and (targets[1:] >= targets[:-1]).all()
        and (starts[1:] > ends[:-1])[same].all()
    )


def taxids_agree(taxids: NDArray[np.uint32], ends: NDArray[np.uint64]) -> bool:
    """Return whether taxonomy ids and their ends fit each other.

    Parameters
    ----------
    taxids
        The ids of all records, end to end.
    ends
        (records,) where those of each record end.
    """
    return (
        int(ends[-1]) == len(taxids)
        and not (ends[1:] < ends[:-1]).any()
        and bool(((taxids >= 1) & (taxids <= MAX_TAXID)).all())
    )
