"""Files that describe clusters: what they say, and how what they cannot say is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from swdual.errors import InputError
from swdual.prediction.nodes_file import MAX_NODES, Network, NodeKind, read_cluster

FULL = """
[[nodes]]
name = "gpu"
count = 100
cpus = 64
gpus = 4
rates = {cpu = 40, gpu = 1500}
database = false
memory = "256G"

[[nodes]]
cpus = 8
rates = "rates.json"

[network]
bandwidth = "2G"
latency = 0.5

[database]
residues = 200_000_000
sequences = 570_000
longest = 35_000
"""
NODE = "[[nodes]]\ncpus = 2\n"
DATABASE = NODE + "[database]\nresidues = 1000\nsequences = 10\n"


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path."""

    def written(text):
        path = tmp_path / "nodes.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written


def test_all_that_a_file_can_say(write):
    """Sizes may have suffixes; the path of rates is relative to the file."""
    path = write(FULL)
    found = read_cluster(path)
    assert found.path == str(path)
    assert found.kinds == (
        NodeKind("gpu", 100, 64, 4, {"cpu": 40, "gpu": 1500}, False, 256 << 30),
        NodeKind("node 2", 1, 8, 0, str(path.parent / "rates.json")),
    )
    assert [kind.kind for kind in found.kinds] == ["gpu", "cpu"]
    assert (found.nodes, found.network) == (101, Network(2e9, 0.5))
    assert len(found.database) == 570_000


def test_little_is_enough(write):
    """Nodes and their workers; the rest has defaults."""
    found = read_cluster(write(NODE))
    assert found.kinds == (NodeKind("node 1", 1, 2),)
    assert (found.network, found.database) == (Network(), None)
    assert found.kinds[0].database


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, r"has no \[\[nodes\]\]"),
        ("nodes = 3\n", None, r"has no \[\[nodes\]\]"),
        ("[nodes]\ncpus = 3\n", None, r"has no \[\[nodes\]\]"),
        ("nodes = []\n", None, r"has no \[\[nodes\]\]"),
        ("nodes = [3]\n", None, "node kind 1 must be a table with name, count"),
        ("[[nodes]]\ncpus = = 2\n", 2, "is not TOML: Invalid value"),
        (NODE + "cpus = 3\n", 3, "is not TOML: Cannot overwrite"),
        (b"\xff", None, "is not text in UTF-8"),
        (b"[[nodes]]\nname = '\x00'", 2, "is not TOML"),
        ("cpus = " + "9" * 5000, None, "is not TOML"),
        ("a = " + "[" * 5000, None, "is not TOML"),
        ("[[nodes]]\n", None, "node kind 1 lacks cpus, which is a whole number from 0 to 4,096"),
        ("[[nodes]]\ncpus = 0\n", None, "node kind 1 has neither cpus nor gpus"),
        ("[[nodes]]\ncpus = -1\n", None, "cpus must be a whole number .*, not '-1'"),
        ("[[nodes]]\ncpus = true\n", None, "cpus must be a whole number .*, not 'True'"),
        ("[[nodes]]\ncpus = 2.0\n", None, "cpus must be a whole number"),
        ("[[nodes]]\ncpus = 4097\n", None, "cpus must be a whole number from 0 to 4,096"),
        (NODE + "gpus = 65\n", None, "gpus must be a whole number from 0 to 64"),
        (NODE + "gpu = 1\n", None, "node kind 1: unknown key 'gpu'; did you mean gpus"),
        (NODE + "count = 0\n", None, f"count must be a whole number from 1 to {MAX_NODES:,}"),
        (NODE + "count = 9999\n" + NODE * 2, None, "has 10,001 nodes, but at most 10,000"),
        (NODE + 'name = "a"\n' + NODE + 'name = "a"\n', None, "two kinds of nodes are called 'a'"),
        (NODE + "name = 3\n", None, "name must be a text of 1 to 40 characters"),
        (NODE + 'name = ""\n', None, "name must be a text"),
        (NODE + f'name = "{"n" * 41}"\n', None, "name must be a text"),
        (NODE + "rates = 3\n", None, "rates must be {cpu = ..., gpu = ...}"),
        (NODE + "rates = ''\n", None, "rates must be {cpu = ..., gpu = ...}"),
        (NODE + f"rates = '{'n' * 256}'\n", None, "rates must be {cpu = ..., gpu = ...}"),
        (NODE + 'rates = "a\\u0000b"\n', None, "rates must be {cpu = ..., gpu = ...}"),
        (NODE + "database = 1\n", None, "database must be true or false, not '1'"),
        (NODE + 'memory = "many"\n', None, "memory must be from 1000 to .* bytes, .*not 'many'"),
        (NODE + "memory = 0\n", None, "memory must be from 1000"),
        (NODE + "[network]\nbandwidth = -1\n", None, r"\[network\]: bandwidth must be from 1000"),
        (NODE + "[network]\nbandwidth = true\n", None, "bandwidth must be from 1000"),
        (NODE + "[network]\nbandwidth = nan\n", None, "bandwidth must be from 1000"),
        (NODE + "[network]\nlatency = nan\n", None, "latency must be a number from 0 to 60"),
        (NODE + "[network]\nlatency = inf\n", None, "latency must be a number from 0 to 60"),
        (NODE + "[network]\nspeed = 1\n", None, "unknown key 'speed'"),
        ("network = 3\n" + NODE, None, r"\[network\] must be a table"),
        ("database = true\n" + NODE, None, r"\[database\] must be a table"),
        ("x = 3\n" + NODE, None, "the file: unknown key 'x'"),
        (DATABASE, None, r"\[database\] lacks longest"),
        (DATABASE + "longest = 1\n", None, "10 sequences of at most 1 residues have no 1,000"),
        (DATABASE + 'longest = 500\ntype = "rna"\n', None, 'type must be "prot" or "nucl"'),
        (DATABASE + "longest = 0\n", None, "longest must be a whole number from 1"),
    ],
)
def test_what_cannot_be_is_refused(write, text, line, message):
    """With the file, the line where it is known, the cause and what would be right."""
    path = write(text)
    with pytest.raises(InputError, match=message) as caught:
        read_cluster(path)
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be opened") as caught:
        read_cluster(tmp_path / "none.toml")
    assert Path(caught.value.file).name == "none.toml"


def test_what_would_move_a_cursor_is_not_shown(write):
    """A name may hold anything that TOML allows."""
    found = read_cluster(write(NODE + 'name = "a\\u001b[31m"\n'))
    assert found.kinds[0].name == "a?[31m"
