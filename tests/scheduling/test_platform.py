"""A platform is a tree of blocks; levels and clusters are what their definitions say."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swdual.errors import InputError
from swdual.scheduling import Workload, simulate
from swdual.scheduling import processors as sets
from swdual.scheduling.campaign import run
from swdual.scheduling.nodes import NodeGroup
from swdual.scheduling.platform import PLATFORMS, Platform

TREE = Platform(12, (2, 6, 12))


def members(ranges):
    return {p for first, stop in ranges.tolist() for p in range(first, stop)}


def subset(draw, processors):
    chosen = draw(st.sets(st.integers(0, processors - 1), min_size=1))
    return sets.parse(" ".join(map(str, sorted(chosen))))


@st.composite
def many_sets(draw):
    """A platform whose last block of each level may be short, and some sets; some are empty."""
    processors = draw(st.integers(1, 40))
    sizes = [draw(st.integers(1, 4))]
    sizes.append(sizes[0] * draw(st.integers(2, 4)))
    sizes = [size for size in sizes if size < processors]
    platform = Platform(processors, (*sizes, processors), draw(st.integers(0, processors)))
    chosen = [
        subset(draw, processors) if draw(st.booleans()) else np.empty((0, 2), np.int64)
        for _ in range(draw(st.integers(0, 6)))
    ]
    return platform, chosen


def clusters_used(platform, ranges):
    """Return how many clusters have processors of one set."""
    return platform.clusters(*flat([ranges]))[0]


def flat(chosen):
    """Return the offsets and ranges of sets, as a schedule keeps them."""
    offsets = np.cumsum([0, *map(len, chosen)])
    return offsets, np.concatenate([np.empty((0, 2), np.int64), *chosen])


@given(case=many_sets())
def test_levels_and_clusters_are_those_of_the_definitions(case):
    """Counted processor by processor; one at a time and all at once."""
    platform, chosen = case
    levels, clusters = platform.levels(*flat(chosen)), platform.clusters(*flat(chosen))
    assert len(levels) == len(clusters) == len(chosen)
    for k, ranges in enumerate(chosen):
        used = members(ranges)
        assert clusters[k] == len({p // platform.cluster_size for p in used})
        if not used:
            assert levels[k] == 0
            continue
        level = 1
        while len({p // platform.block_sizes[level - 1] for p in used}) > 1:
            level += 1
        assert levels[k] == level == platform.level(ranges)
        assert level >= platform.minimum_level(len(used))
        assert clusters[k] >= platform.clusters_needed(len(used))


@given(case=many_sets())
def test_the_least_level_and_clusters_can_be_had(case):
    """The first processors of a platform have them, whatever their number."""
    platform, _ = case
    counts = np.arange(1, platform.processors + 1)
    firsts = [np.array([[0, count]]) for count in counts]
    assert platform.levels(*flat(firsts)).tolist() == platform.minimum_levels(counts).tolist()
    assert platform.clusters(*flat(firsts)).tolist() == platform.clusters_needed(counts).tolist()
    for count in counts.tolist():
        assert platform.minimum_level(count) == platform.level(np.array([[0, count]]))


def test_the_example_of_chapter_5_has_three_levels():
    """Two processors of a cluster, of two clusters, and of both sides (section 5.3.1)."""
    tree = Platform(8, (2, 4, 8))
    assert [tree.level(sets.parse(text)) for text in ("0-1", "0 2", "0 4")] == [1, 2, 3]
    assert tree.minimum_level(2) == 1


def test_a_platform_of_one_number_has_one_block():
    """All jobs have level 1 and are in one cluster."""
    platform = Platform(128)
    assert (platform.block_sizes, platform.cluster_size) == ((128,), 128)
    assert platform.level(sets.parse("0 127")) == platform.minimum_level(128) == 1
    assert clusters_used(platform, sets.parse("0 127")) == 1
    assert platform == Platform(np.int64(128), [128])
    assert type(Platform(np.int64(128)).processors) is int


def test_clusters_need_not_be_the_smallest_blocks():
    """Chapter 4 leaves the level open: here clusters of six in a tree of pairs."""
    platform = dataclasses.replace(TREE, cluster_size=6)
    assert clusters_used(platform, sets.parse("0-5")) == 1
    assert clusters_used(TREE, sets.parse("0-5")) == 3
    assert platform.level(sets.parse("0-5")) == TREE.level(sets.parse("0-5")) == 2


# The platforms of the thesis.

COUNTS = {
    "curie": (1, 2, 70, 3360, 80640),
    "hpc2n": (1, 2, 10, 240),
    "kth-sp2": (1, 2, 10, 100),
    "llnl-thunder": (1, 2, 64, 1024),
    "metacentrum": (1, 2, 14, 812),
    "ricc": (1, 2, 32, 512, 8192),
    "sdsc-blue": (1, 2, 48, 1152),
}
"""Blocks of each level from the root, and processors, as the thesis's program counted them."""

SIZES = {
    **{"curie": 80640, "hpc2n": 240, "kth-sp2": 100, "llnl-thunder": 1024},
    **{"metacentrum": 806, "ricc": 8192, "sdsc-blue": 1152},
}
"""Processors by table 5.2, and for Metacentrum, which is not in it, by table 3.1."""


@pytest.mark.parametrize("name", COUNTS)
def test_a_platform_of_the_thesis_has_its_blocks(name):
    """As many as in the thesis's program at each level, and the processors of its tables."""
    platform = Platform.named(name)
    assert platform.name == name
    assert platform.processors == SIZES[name]
    assert len(platform.block_sizes) == len(COUNTS[name]) - 1
    for count, size in zip(COUNTS[name][-2::-1], platform.block_sizes, strict=True):
        assert -(-platform.processors // size) == count
    assert platform.cluster_size == platform.block_sizes[0]


def test_the_thesis_has_seven_platforms():
    """They are found in any case, and a near miss names them."""
    assert set(PLATFORMS) == set(COUNTS)
    assert Platform.named("KTH-SP2") == Platform.named("kth-sp2")
    with pytest.raises(InputError, match=r"unknown platform 'kth_sp2'; did you mean kth-sp2\?"):
        Platform.named("kth_sp2")


# Impossible platforms.


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        ((0,), "1 to 4,000,000 processors, not 0"),
        ((-3,), "not -3"),
        ((4_000_001,), "not 4000001"),
        ((12, (2, 6)), "the last of the block sizes is 6, but must be all 12"),
        ((12, (2, 6, 24)), "the last of the block sizes is 24"),
        ((12, (0, 12)), "block size 0 does not come after 0"),
        ((12, (6, 2, 12)), "block size 2 does not come after 6"),
        ((12, (6, 6, 12)), "block size 6 does not come after 6"),
        ((12, (4, 6, 12)), "blocks of 6 processors do not consist of whole blocks of 4"),
        ((12, (), 13), "a cluster has 1 to 12 processors here, not 13"),
        ((12, (), -1), "not -1"),
    ],
)
def test_an_impossible_platform_is_refused(arguments, cause):
    """With what is wrong about it."""
    with pytest.raises(InputError, match=cause):
        Platform(*arguments)


def test_what_cannot_be_shown_of_a_name_is_replaced(write):
    """A line feed would break tables, and half a character is no text."""
    assert Platform(4, name="a\nb\udce9").name == "a?b?"
    path = write('name = "x\\u0007y"\nprocessors = 4\n')
    assert Platform.load(path).name == "x?y"


def test_the_last_block_may_be_short():
    """As 806 processors in clusters of 58."""
    platform = Platform(10, (4, 10))
    assert platform.level(sets.parse("8-9")) == 1
    assert platform.clusters_needed(10) == 3


# Files.


@pytest.fixture
def write(tmp_path):
    def to(text, name="site.toml"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return to


def test_a_platform_is_read_from_toml(write):
    """All keys, or the one that is needed; the name is the file's by default."""
    path = write('name = "Site"\nprocessors = 12\nblock_sizes = [2, 6, 12]\ncluster_size = 6\n')
    assert Platform.load(path) == Platform(12, (2, 6, 12), 6, "Site")
    assert Platform.load(write("processors = 12")) == Platform(12, name="site")


def test_a_platform_is_read_from_json(write):
    """Every platform of the thesis comes back from its own fields."""
    for name in PLATFORMS:
        platform = Platform.named(name)
        path = write(json.dumps(dataclasses.asdict(platform)), f"{name}.json")
        assert Platform.load(str(path)) == platform


@pytest.mark.parametrize(
    ("text", "name", "line", "cause"),
    [
        ("processors = 12\nblock_sizes = [2,", "a.toml", None, "is not TOML: .*end of document"),
        ("processors = 12\nx = = 1\n", "a.toml", 2, "is not TOML: Invalid value"),
        ('{"processors": 12,\n\n]', "a.json", 3, "is no JSON: "),
        ('{"processors": 12, "processors": 13}', "a.json", None, "a key comes twice"),
        ("processors = 12\nprocessors = 13\n", "a.toml", 2, "Cannot overwrite a value"),
        ("[12]", "a.json", None, "holds no object with the keys name, processors"),
        ("processors = 12\nblocks = [12]\n", "a.toml", None, "unknown key 'blocks'; did you mean"),
        ('name = "x"\n', "a.toml", None, "does not say how many processors"),
        ("processors = 12.0", "a.toml", None, "processors must be a whole number from 1 to 4,0"),
        ('{"processors": true}', "a.json", None, "processors must be a whole number"),
        ("processors = 12\ncluster_size = 0", "a.toml", None, "cluster_size must be a whole"),
        ("processors = 12\nblock_sizes = 12", "a.toml", None, "block_sizes must be a list"),
        ("processors = 12\nblock_sizes = [12.0]", "a.toml", None, "block_sizes must be a list"),
        ("processors = 12\nname = 3", "a.toml", None, "name must be a text"),
        ("processors = 12\nblock_sizes = [5, 6]", "a.toml", None, "last of the block sizes is 6"),
        ("processors = 0", "a.toml", None, "processors must be a whole number from 1 to 4,000,000"),
        (b"name = '\xff'", "a.toml", None, "is not text in UTF-8"),
        ("processors: 12", "a.yaml", None, r"in \.toml or \.json"),
        ("[" * 100_000, "a.json", None, "is no platform: "),
        ("processors = " + "9" * 5000, "a.toml", None, "is not TOML: "),
        ('{"processors": ' + "9" * 5000 + "}", "a.json", None, "is no platform: "),
    ],
)
def test_a_damaged_file_is_refused(write, text, name, line, cause):
    """With the file, the line where it is known, and the cause."""
    path = write(text, name)
    with pytest.raises(InputError, match=cause) as caught:
        Platform.load(path)
    assert caught.value.file == str(path)
    if line is not None:
        assert caught.value.line == line


NODES = """
[[nodes]]
count = 3
processors = 8
memory = "16G"
partitions = ["batch"]

[[nodes]]
count = 1
processors = 16
memory = 1024
gpus = 4
"""


def test_nodes_are_read_from_a_file(write):
    """Groups of nodes tell how many processors there are; columns number the nodes through."""
    platform = Platform.load(write(NODES))
    groups = NodeGroup(3, 8, "16G", 0, ("batch",)), NodeGroup(1, 16, 1024, 4)
    assert platform == Platform.of_nodes(groups, "site") == Platform(40, name="site", nodes=groups)
    table = platform.node_table
    assert table.capacity.tolist() == [[8, 16 * 2**20, 0]] * 3 + [[16, 1024, 4]]
    assert table.first.tolist() == [0, 8, 16, 24, 40]
    assert {name: x.tolist() for name, x in table.partitions.items()} == {
        "batch": [True, True, True, False]
    }
    path = write(json.dumps(dataclasses.asdict(platform)), "site.json")
    assert Platform.load(str(path)) == platform
    assert Platform(40).node_table is None


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (NODES.replace("gpus", "gpu"), "unknown key of a group of nodes 'gpu'; did you mean gpus"),
        (NODES.replace("count = 1", ""), "a group of nodes does not say its count"),
        (NODES.replace("16G", "16Q"), "'16Q' is no size of a memory; write 256G"),
        (NODES.replace("count = 1", "count = 0"), "count of nodes must be 1 or more, not 0"),
        (NODES.replace("gpus = 4", "gpus = -1"), "gpus of nodes must be 0 or more, not -1"),
        (NODES.replace("gpus = 4", "gpus = 1.5"), "gpus"),
        (NODES.replace('["batch"]', '"batch"'), "partitions of nodes are a list of names"),
        ("processors = 41" + NODES, "the nodes have 40 processors, not 41"),
        ("nodes = 3", "nodes must be a list of groups of nodes"),
        ("nodes = [3]", "nodes must be groups with the keys count, processors, memory"),
        ("nodes = []", "does not say how many processors"),
    ],
)
def test_nodes_that_cannot_be_are_refused(write, text, cause):
    """With the file and the cause."""
    path = write(text)
    with pytest.raises(InputError, match=cause) as caught:
        Platform.load(path)
    assert caught.value.file == str(path)


def test_a_platform_of_nodes_has_some():
    """An empty list is refused."""
    with pytest.raises(InputError, match="one group of them at least"):
        Platform.of_nodes([])


def test_a_missing_file_is_named(tmp_path):
    """It cannot be read."""
    with pytest.raises(InputError, match="cannot be opened: No such file") as caught:
        Platform.load(tmp_path / "none.toml")
    assert caught.value.file == str(tmp_path / "none.toml")


@pytest.mark.parametrize("processors", [None, "4", 4.0, [4]])
def test_processors_are_a_whole_number(processors):
    """A platform's, and those that `simulate` and `run` are given."""
    jobs = Workload.from_arrays([0], 5, 1)
    simulations = (lambda given: simulate(jobs, given), lambda given: run(jobs, given, "fcfs"))
    for call in (Platform, *simulations):
        with pytest.raises(InputError, match="a platform has a whole number of processors, not"):
            call(processors)
