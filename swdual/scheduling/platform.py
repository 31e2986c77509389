"""Where jobs run: processors, grouped in clusters and in the levels of a tree of switches."""

from __future__ import annotations

import json
import operator
import os
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.io.input import read_small, read_toml
from swdual.registry import unknown
from swdual.runtime.keywords import plain_number
from swdual.scheduling.nodes import NodeGroup
from swdual.text.messages import sanitize

if TYPE_CHECKING:
    from swdual.scheduling.node_table import NodeTable

PLATFORMS: Mapping[str, tuple[int, ...]] = {
    "curie": (24, 1152, 40320, 80640),
    "hpc2n": (24, 120, 240),
    "kth-sp2": (10, 50, 100),
    "llnl-thunder": (16, 512, 1024),
    "metacentrum": (58, 406, 806),
    "ricc": (16, 256, 4096, 8192),
    "sdsc-blue": (24, 576, 1152),
}
"""Block sizes of the machines of the thesis's traces; the last is all processors (table 5.2).

The thesis prints no other sizes. Its program counts the blocks of each level from the root, and
then the processors: 1, 2, 70, 3360 and 80640 for Curie, so that a cluster has 80640 / 3360 = 24.
Metacentrum was 812 processors there and 806 in table 3.1: its last cluster is short here. Thunder
is the 1024 of table 5.2, where table 3.1 has 4096.
"""

MAX_PLATFORM_PROCESSORS = 4_000_000
"""Processors that a platform may have; what is known of free ones takes memory by their number."""

KEYS = ("name", "processors", "block_sizes", "cluster_size", "nodes")

Counts = TypeVar("Counts", int, NDArray[np.int64])


@dataclass(frozen=True)
class Platform:
    """Processors 0, 1, ... that communicate through a tree of switches.

    A level of the tree divides the processors into blocks of equal size, of which the last may be
    short. Level 1 has the smallest blocks, the clusters of the thesis's section 5.3.1; the one
    block of the highest level is the whole platform.

    Parameters
    ----------
    processors
        How many there are.
    block_sizes
        The size of a block of each level, ascending; the last is all processors, and each of the
        others a multiple of the one before. None: one level.
    cluster_size
        Processors of a cluster, for locality; by default those of a block of level 1. Chapter 4
        of the thesis leaves it open which level's blocks are called clusters.
    name
        What the platform is called; by default how many processors it has. What cannot be shown of
        it becomes "?".
    nodes
        Its nodes in groups, if jobs are to be placed on nodes with memory and GPUs: see `of_nodes`.

    Raises
    ------
    InputError
        If such a platform is impossible.

    Examples
    --------
    >>> Platform(8, (2, 4, 8))
    Platform(processors=8, block_sizes=(2, 4, 8), cluster_size=2, name='8 processors')
    """

    processors: int
    block_sizes: tuple[int, ...] = ()
    cluster_size: int = 0
    name: str = ""
    nodes: tuple[NodeGroup, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        try:
            plain_number("processors", self.processors, int)
        except InputError:
            raise InputError(
                f"a platform has a whole number of processors, not {self.processors!r}; give an "
                "int, or a Platform"
            ) from None
        if not 1 <= self.processors <= MAX_PLATFORM_PROCESSORS:
            raise InputError(
                f"a platform has 1 to {MAX_PLATFORM_PROCESSORS:,} processors, not {self.processors}"
            )
        sizes = tuple(map(operator.index, self.block_sizes)) or (self.processors,)
        if sizes[-1] != self.processors:
            raise InputError(
                f"the last of the block sizes is {sizes[-1]}, but must be all "
                f"{self.processors} processors"
            )
        for position, size in enumerate(sizes):
            below = sizes[position - 1] if position else 0
            if size <= below:
                raise InputError(
                    f"block size {size} does not come after {below}: sizes ascend from the "
                    "smallest block, of 1 processor or more, to all processors"
                )
            if position < len(sizes) - 1 and below and size % below:
                raise InputError(
                    f"blocks of {size} processors do not consist of whole blocks of {below}"
                )
        if self.nodes and _count_processors(self.nodes) != self.processors:
            raise InputError(
                f"the nodes have {_count_processors(self.nodes):,} processors, not "
                f"{self.processors:,}; leave out the number of processors"
            )
        object.__setattr__(self, "processors", operator.index(self.processors))
        object.__setattr__(self, "block_sizes", sizes)
        object.__setattr__(self, "cluster_size", operator.index(self.cluster_size) or sizes[0])
        name = sanitize(self.name) or f"{self.processors:,} processors"
        object.__setattr__(self, "name", name)
        if not 1 <= self.cluster_size <= self.processors:
            raise InputError(
                f"a cluster has 1 to {self.processors} processors here, not {self.cluster_size}"
            )

    @classmethod
    def of_nodes(cls, groups: Sequence[NodeGroup], name: str = "") -> Platform:
        """Return a platform of nodes with processors, memory and GPUs.

        Parameters
        ----------
        groups
            Its nodes.
        name
            What it is called.

        Raises
        ------
        InputError
            If there are no nodes, or too many processors.

        Examples
        --------
        >>> Platform.of_nodes([NodeGroup(10, 64), NodeGroup(2, 32, gpus=4)]).processors
        704
        """
        if not groups:
            raise InputError("a platform of nodes has one group of them at least")
        return cls(_count_processors(groups), name=name, nodes=tuple(groups))

    @cached_property
    def node_table(self) -> NodeTable | None:
        """The nodes, as columns; None where a platform is just its processors."""
        from swdual.scheduling.node_table import NodeTable  # it loads Numba

        return NodeTable(self.nodes) if self.nodes else None

    @classmethod
    def named(cls, name: str) -> Platform:
        """Return one of the platforms of the thesis, those in `PLATFORMS`.

        >>> Platform.named("hpc2n").block_sizes
        (24, 120, 240)

        Raises
        ------
        InputError
            If there is none of this name; the message names the nearest ones.
        """
        sizes = PLATFORMS.get(name.lower())
        if sizes is None:
            raise InputError(unknown("platform", name, PLATFORMS))
        return cls(sizes[-1], sizes, name=name.lower())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Platform:
        """Return the platform that a TOML or JSON file describes.

        The file has ``processors`` and perhaps ``block_sizes``, ``cluster_size`` and ``name``,
        which mean what they mean here; or a table ``nodes`` for each group of nodes, with the
        values of a `NodeGroup`, which tells how many processors there are. The name is the file's
        if it has none.

        Raises
        ------
        InputError
            If the file cannot be read, or the platform is impossible: with the file, and the
            line if it is not even TOML or JSON.
        """
        path = Path(path)
        values = {"name": path.stem} | _check_values(_read(path), path)
        try:
            groups = tuple(map(_parse_group, values.pop("nodes", ())))
            processors = values.pop("processors", _count_processors(groups))
            return cls(processors, **values, nodes=groups)
        except InputError as error:
            raise InputError(error.message, file=path) from error

    def level(self, processors: NDArray[np.int64]) -> int:
        """Return the lowest level of which one block holds all these processors.

        >>> Platform(8, (2, 4, 8)).level(np.array([[0, 1], [3, 4]]))
        2
        """
        first, last = int(processors[0, 0]), int(processors[-1, 1]) - 1
        for level, size in enumerate(self.block_sizes, 1):
            if first // size == last // size:
                return level
        raise AssertionError(f"processor {last} is outside")

    def minimum_level(self, count: int) -> int:
        """Return the lowest level whose blocks have room for so many processors.

        >>> Platform(8, (2, 4, 8)).minimum_level(3)
        2
        """
        return bisect_left(self.block_sizes, count) + 1

    def clusters_needed(self, count: Counts) -> Counts:
        """Return the fewest clusters that have so many processors, for one number or many.

        >>> Platform(8, (2, 4, 8)).clusters_needed(3)
        2
        """
        return -(-count // self.cluster_size)

    def levels(self, offsets: NDArray[np.int64], ranges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (jobs,) the `level` of each of many sets, or 0 for an empty one.

        Parameters
        ----------
        offsets, ranges
            (jobs + 1,) and (ranges, 2), as in `swdual.scheduling.schedule_data`: set i is
            the ranges from ``offsets[i]`` to ``offsets[i + 1] - 1``.
        """
        some = offsets[1:] > offsets[:-1]
        first, last = ranges[offsets[:-1][some], 0], ranges[offsets[1:][some] - 1, 1] - 1
        level = np.ones(len(first), np.int64)
        for size in self.block_sizes[:-1]:  # blocks are nested: apart here is apart below
            level += first // size != last // size
        levels = np.zeros(len(some), np.int64)
        levels[some] = level
        return levels

    def minimum_levels(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (jobs,) the `minimum_level` of each number of processors."""
        return np.searchsorted(self.block_sizes, counts).astype(np.int64) + 1

    def clusters(self, offsets: NDArray[np.int64], ranges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (jobs,) how many clusters have processors of each of many sets: see `levels`.

        Parameters
        ----------
        offsets, ranges
            (sets + 1,) and (ranges, 2), as for `levels`.

        Examples
        --------
        >>> Platform(8, (2, 4, 8)).clusters(np.array([0, 2]), np.array([[0, 1], [3, 6]]))
        array([3])
        """
        first, last = ranges[:, 0] // self.cluster_size, (ranges[:, 1] - 1) // self.cluster_size
        new = last - first + 1
        # Ranges ascend, so that one shares at most its first cluster with the ranges before it,
        # and so with the last of them; but the first range of a set shares nothing.
        shared = np.zeros(len(ranges) + 1, np.int64)
        shared[1:-1] = first[1:] == last[:-1]
        shared[offsets[:-1]] = 0
        total = np.concatenate(([0], np.cumsum(new - shared[:-1])))
        return total[offsets[1:]] - total[offsets[:-1]]


def _read(path: Path) -> Any:
    """Return the content of a TOML or JSON file."""
    if path.suffix not in {".toml", ".json"}:
        raise InputError(
            "a platform is described by a file in .toml or .json; rename it", file=path
        )
    if path.suffix == ".toml":
        return read_toml(path)
    try:
        return json.loads(read_small(path).decode(), object_pairs_hook=_reject_duplicates)
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError("is not text in UTF-8", file=path) from error
    except json.JSONDecodeError as error:
        raise InputError(f"is no JSON: {error.msg}", file=path, line=error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no platform: {error}", file=path) from error


def _reject_duplicates(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of a JSON file, in which no key may come twice."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("a key comes twice in an object")
    return mapping


def _check_values(values: Any, path: Path) -> dict[str, Any]:
    """Return the values of a platform's file, after checks of their types."""
    if not isinstance(values, dict):
        raise InputError(f"holds no object with the keys {', '.join(KEYS)}", file=path)
    for key in values:
        if key not in KEYS:
            raise InputError(unknown("key", key, KEYS), file=path)
    if not isinstance(values.get("name", ""), str):
        raise InputError("name must be a text", file=path)
    if not isinstance(values.get("nodes", []), list):
        raise InputError("nodes must be a list of groups of nodes, [[nodes]]", file=path)
    if "processors" not in values and not values.get("nodes"):
        raise InputError(
            "does not say how many processors there are; give processors, or [[nodes]]", file=path
        )
    for key in ("processors", "cluster_size"):
        if key in values and (
            type(values[key]) is not int or not 1 <= values[key] <= MAX_PLATFORM_PROCESSORS
        ):
            raise InputError(
                f"{key} must be a whole number from 1 to {MAX_PLATFORM_PROCESSORS:,}", file=path
            )
    sizes = values.get("block_sizes", [])
    if not isinstance(sizes, list) or not all(
        type(size) is int and 1 <= size <= MAX_PLATFORM_PROCESSORS for size in sizes
    ):
        raise InputError(
            f"block_sizes must be a list of whole numbers from 1 to {MAX_PLATFORM_PROCESSORS:,}",
            file=path,
        )
    return values | {"block_sizes": tuple(sizes)}


def _count_processors(groups: Sequence[NodeGroup]) -> int:
    return sum(group.count * group.processors for group in groups)


def _parse_group(values: Any) -> NodeGroup:
    """Return the group of nodes that a table of a platform's file describes."""
    known = [each.name for each in fields(NodeGroup)]
    if not isinstance(values, dict):
        raise InputError(f"nodes must be groups with the keys {', '.join(known)}")
    for key in values:
        if key not in known:
            raise InputError(unknown("key of a group of nodes", key, known))
    for key in ("count", "processors"):
        if key not in values:
            raise InputError(f"a group of nodes does not say its {key}")
    return NodeGroup(**values)
