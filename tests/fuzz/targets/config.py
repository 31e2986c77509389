"""Small files that people write: platforms, clusters (TOML), rates (JSON), times of tasks (CSV).

What is read is put to use: plans are made with rates and times, and hold what plans promise.
"""

from __future__ import annotations

import json
from functools import cache

import numpy as np
from fuzz.target import explained, pick, stored, unshown

from swdual import registry
from swdual.cli._times import read_times
from swdual.database.database import Database
from swdual.planning.planner import PACKAGE, make_plan
from swdual.prediction.cluster_preview import forecast
from swdual.prediction.nodes_file import read_cluster
from swdual.prediction.preview import Preview
from swdual.request.options import SearchOptions
from swdual.scheduling.platform import MAX_PLATFORM_PROCESSORS, Platform
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

MAX_TASKS = 40
"""Tasks beyond which no plan is made: some planners take long."""

MAX_NODES, MAX_RESIDUES = 30, 10**9
"""Nodes, and residues of a described database, beyond which no plan is made."""


def target(data):
    """Read one of the five kinds of files."""
    if len(data) < 2:
        return
    with explained():
        pick(READERS, data[0])(data[2:], data[1])


def _toml(text, choice):
    _platform(Platform.load(stored(text, "input.toml")))


def _nodes(text, choice):
    path = stored(text, "nodes.toml")
    cluster = read_cluster(path)
    described = cluster.database
    assert not any(unshown(kind.name) for kind in cluster.kinds)
    if cluster.nodes <= MAX_NODES and (described is None or described.residues <= MAX_RESIDUES):
        queries = {"q": "MKVLAW" * 20, "r": "MKV"}
        found = forecast(queries, None if described else _database(), path, max_target_seqs=3)
        _plan(found.plan)
        assert found.makespan >= found.plan.makespan * (1 - 1e-9)
        json.dumps(found.to_dict(), allow_nan=False)


def _json(text, choice):
    _platform(Platform.load(stored(text, "input.json")))


def _platform(platform):
    assert 1 <= platform.cluster_size <= platform.processors <= MAX_PLATFORM_PROCESSORS
    assert platform.block_sizes[-1] == platform.processors
    assert platform.name.isprintable()
    assert platform.minimum_level(platform.processors) == len(platform.block_sizes)


def _rates(text, choice):
    path = stored(text, "rates.json")
    preview = Preview(
        {"q": "MKVLAW" * 20}, _database(), 2, 1, path, SearchOptions(max_target_seqs=3)
    )
    plan = preview.plan(pick(("dual", "self_scheduling", "equal_power"), choice))
    _plan(plan)
    json.dumps({kind: rates.to_dict() for kind, rates in preview.rates.items()}, allow_nan=False)


def _times(text, choice):
    cpu, gpu = read_times(stored(text, "input.csv"))
    assert len(cpu) == len(gpu)
    if len(cpu) <= MAX_TASKS:
        names = registry.available(PACKAGE)
        _plan(make_plan(cpu, gpu, cpus=2, gpus=choice % 3, planner=pick(names, choice // 3)))


def _plan(plan):
    assert np.isfinite(plan.makespan)
    assert plan.lower_bound <= plan.makespan * (1 + 1e-9)
    json.dumps(plan.to_dict(), allow_nan=False)


READERS = (_toml, _json, _rates, _times, _nodes)


@cache
def _database():
    targets = [Sequence(f"t{k}", PROTEIN.encode("MKVLAWGGHE" * (k + 1))) for k in range(20)]
    return Database.from_batches([batch_of(targets)], PROTEIN, "targets")


def seeds():
    """Return sound and damaged files of each kind."""
    full = {
        "startup": 1e-4,
        "layout": 1e-9,
        "width": 32,
        "gcups": {"32": 20, "1000": 30.5},
        "trust": [0, 1, 2, 3, 4, 5, 6],
    }
    nodes = b"[[nodes]]\ncpus = 2\nrates = {cpu = 8}\n"
    texts = (
        [
            b'processors = 8\nblock_sizes = [2, 4, 8]\ncluster_size = 2\nname = "eight"\n',
            b"processors = 0x" + b"f" * 4500,
            b"processors = 1e3\n",
            b"processors = 8\nprocessors = 8\n",
            b'name = "\\u001b[31m"\nprocessors = 1_000\n',
            b"processors = " + b"[" * 3000,
            b"processors = 8 # \x00\n",
            b"",
            b"\xff",
        ],
        [
            b'{"processors": 8, "block_sizes": [2, 4, 8], "cluster_size": 4, "name": "eight"}',
            b'{"processors": 8, "processors": 9}',
            b'{"processors": true}',
            b'{"processors": ' + b"9" * 5000 + b"}",
            b'{"processors": 8, "block_sizes": [3, 8]}',
            b'{"key\\u001b": 1}',
            b"[" * 3000,
            b"[]",
            b'{"processors": NaN}',
        ],
        [
            b'{"cpu": 45, "gpu": 1500}',
            json.dumps({"rates": {"cpu": full, "gpu": full}}).encode(),
            b'{"cpu": "fast", "gpu": 1}',
            b'{"cpu": 1e999, "gpu": 1}',
            b'{"cpu": 5e-324, "gpu": 1e308}',
            b'{"cpu": {"gcups": {"0": 1}}, "gpu": {"gcups": {}}}',
            b'{"cpu": {"gcups": 1, "width": 1e30}, "gpu": {"gcups": 1, "trust": [1, 2]}}',
            b'{"cpu": {"gcups": 1, "startup": -1}, "gpu": null}',
            b"3",
        ],
        [
            b"cpu,gpu\n3,1\n4,\n,2\n1e-3,inf\n",
            b'task,gpu,cpu\na,1,2\nb,"3",4\n',
            b"cpu,gpu\n-1,1\n",
            b"cpu,gpu\nnan,1\n",
            b"cpu,gpu\nabc\x1b,1\n",
            b"cpu,gpu\n1e308,1e-308\n1e308,1e308\n",
            b"cpu\n1\n",
            b'cpu,gpu\n"1\n',
            b"\xff\xfe",
            b"cpu,gpu\n" + b"9" * 5000 + b",1\n",
        ],
        [
            nodes + b"[[nodes]]\nname = 'b'\ncpus = 1\ngpus = 2\nrates = {cpu = 1, gpu = 2}\n",
            nodes + b"database = false\n[network]\nbandwidth = '1k'\nlatency = 0.5\n",
            nodes + b"[database]\nresidues = 9000000\nsequences = 3000\nlongest = 9000\n",
            nodes + b"[database]\nresidues = 9\nsequences = 9\nlongest = 1\ntype = 'nucl'\n",
            nodes.replace(b"8}", b"{gcups = {32 = 1, 100 = 2}, startup = 1e-5, width = 9}}"),
            nodes.replace(b"8}", b"1e999}"),
            nodes.replace(b"8}", b"{gcups = 8, startup = 1e300, layout = 1e-320}}"),
            nodes.replace(b"{cpu = 8}", b"'nothing.json'"),
            nodes + b"memory = '" + b"9" * 5000 + b"G'\n",
            nodes + b'count = 30\nname = "\\u001b[31m"\n',
            b"[nodes]\ncpus = 3\n",
        ],
    )
    return [
        bytes([kind, 7 * number]) + text
        for kind, each in enumerate(texts)
        for number, text in enumerate(each)
    ]
