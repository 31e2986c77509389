"""Searches on clusters that are not here: planned, replayed, and what nodes wait for."""

from __future__ import annotations

import json

import numpy as np
import pytest

from swdual import registry
from swdual.errors import InputError
from swdual.master.cost import CostModel
from swdual.planning.planner import PACKAGE
from swdual.prediction.cluster_preview import ClusterPreview, forecast
from swdual.request.options import SearchOptions

PLANNERS = registry.available(PACKAGE)
CPU = {"startup": 1e-4, "layout": 1e-9, "width": 32, "gcups": {"32": 2, "1000": 8}}
NODES = """
[[nodes]]
name = "thin"
count = 3
cpus = 4
rates = {cpu = 8}

[[nodes]]
name = "fat"
count = 2
cpus = 4
gpus = 1
rates = {cpu = 8, gpu = 100}
"""
DATABASE = """
[database]
residues = 200_000_000
sequences = 570_000
longest = 35_000
"""


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path."""

    def written(text):
        path = tmp_path / "nodes.toml"
        path.write_text(text)
        return path

    return written


@pytest.fixture(scope="module")
def queries():
    """A hundred of them."""
    rng = np.random.default_rng(5)
    lengths = np.clip(rng.lognormal(5.7, 0.6, 100), 30, 5000).astype(int)
    return {f"q{k}": "ACDEFGHIKL" * (n // 10 + 1) for k, n in enumerate(lengths)}


@pytest.mark.sample(4)
@pytest.mark.parametrize("planner", PLANNERS)
def test_the_replay_of_a_plan_takes_as_long_as_planned(write, queries, planner):
    """Where no node waits for blocks, whoever plans."""
    found = forecast(queries, None, write(NODES + DATABASE), planner=planner)
    assert found.transfers == []
    assert found.makespan == pytest.approx(found.plan.makespan, rel=1e-12)
    assert found.ends == pytest.approx(found.plan.ends, abs=1e-9)
    assert found.plan.lower_bound <= found.makespan * (1 + 1e-12)


def test_the_time_is_that_of_all_cells_at_the_speed_of_all_workers(write, queries):
    """What sending shares takes comes on top."""
    preview = ClusterPreview(queries, None, write(NODES + DATABASE))
    found = preview.forecast("dual")
    ideal = preview.cells / (3 * 4 * 8e9 + 2 * (4 * 8e9 + 100e9))
    assert ideal < found.makespan < 1.05 * ideal
    assert found.overhead == pytest.approx(
        0.01 * len(found.partition.shares) / found.plan.busy.sum()
    )
    assert sum(load.nodes * load.busy for load in found.loads) == pytest.approx(
        found.plan.busy.sum()
    )
    assert [load.name for load in found.loads] == ["thin", "fat"]
    assert all(load.idle < 0.05 for load in found.loads)
    assert all(load.waiting == pytest.approx(0, abs=1e-9) for load in found.loads)


def test_nodes_without_the_database_wait_for_blocks(write, queries):
    """Each block that a node meets is sent to it once, by those who have it."""
    text = NODES + "database = false\n[network]\nbandwidth = '100M'\n" + DATABASE
    found = forecast(queries, None, write(text))
    thin, fat = found.loads
    assert (thin.received, thin.waiting) == (0, pytest.approx(0, abs=1e-9))
    assert fat.waiting > 0
    assert found.makespan > found.plan.makespan
    pairs = [(each.node, each.block) for each in found.transfers]
    assert len(set(pairs)) == len(pairs)
    blocks = [{int(found.blocks[share]) for share in queue} for queue in found.plan.queues]
    assert set(pairs) == {(node, block) for node in (3, 4) for block in blocks[node]}
    assert fat.received == sum(found.sizes[block] for _, block in pairs)
    arrivals = {(each.node, each.block): each.end for each in found.transfers}
    for share, node in enumerate(found.plan.workers.tolist()):
        start = found.ends[share] - (found.plan.ends - found.plan.starts)[share]
        assert start >= arrivals.get((node, int(found.blocks[share])), 0.0) - 1e-9


def test_a_slow_network_makes_all_wait_for_the_client(write, queries):
    """If nobody has the database, the last block arrives when the client has sent all."""
    text = NODES.replace("\nrates", "\ndatabase = false\nrates")
    found = forecast(queries, None, write(text + "[network]\nbandwidth = '1M'\n" + DATABASE))
    facts = found.to_dict()["transfers"]
    assert facts["from_client"] >= found.sizes.sum()
    assert facts["last"] >= found.sizes.sum() / 1e6
    assert found.makespan > facts["last"]


def test_a_database_that_is_here_is_planned_for_as_it_is(write, queries):
    """Its own blocks and lengths; nucleotides have two strands."""
    targets = {"a": "MKVLAW" * 50, "b": "MKVLAW" * 20}
    preview = ClusterPreview(queries, targets, write(NODES), SearchOptions(max_target_seqs=1))
    assert preview.cells == sum(map(len, queries.values())) * 420
    found = preview.forecast("dual")
    assert found.partition.cells.sum() == preview.cells
    bases = {"a": "ACGT" * 50}
    both = ClusterPreview(bases, bases, write(NODES), SearchOptions(dbtype="nucl"))
    assert both.cells == 2 * 200 * 200


def test_all_is_numbers_lists_and_texts(write, queries):
    """For JSON; and the same again for the same question."""
    path = write(NODES + DATABASE)
    shown = json.dumps(forecast(queries, None, path).to_dict(), allow_nan=False)
    assert shown == json.dumps(forecast(queries, None, path).to_dict())
    facts = json.loads(shown)
    assert len(facts["shares"]) == sum(len(worker["tasks"]) for worker in facts["workers"])
    assert sorted({query for group, _ in facts["shares"] for query in facts["groups"][group]}) == [
        *range(100)
    ]


def test_rates_may_be_those_that_a_plan_printed(write, tmp_path, queries):
    """In a file beside the description, or written out in it."""
    (tmp_path / "rates.json").write_text(json.dumps({"rates": {"cpu": CPU}}))
    path = write("[[nodes]]\ncpus = 2\nrates = 'rates.json'\n" + DATABASE)
    own = ClusterPreview(queries, None, path).rates["node 1"]["cpu"]
    assert own.to_dict() == CostModel.from_dict(CPU).to_dict()
    gcups = "{cpu = {startup = 1e-4, layout = 1e-9, width = 32, gcups = {32 = 2, 1000 = 8}}}"
    path = write(f"[[nodes]]\ncpus = 2\nrates = {gcups}\n" + DATABASE)
    same = ClusterPreview(queries, None, path).rates["node 1"]["cpu"]
    assert same.to_dict() == own.to_dict()


def test_memory_is_that_of_a_search_of_the_largest_share(write, queries):
    """More workers take more; the least is no more than the most."""
    text = "[[nodes]]\ncpus = 1\nrates = {cpu = 8}\n[[nodes]]\ncpus = 64\nrates = {cpu = 8}\n"
    preview = ClusterPreview(queries, None, write(text + DATABASE))
    partition = preview.forecast("dual").partition
    (one, least), (many, more) = (preview.memory(kind, partition) for kind in preview.cluster.kinds)
    assert least.total < one.total < many.total
    assert least.total < more.total < many.total


def test_few_nodes_can_be_drawn(write, tmp_path, queries):
    """The plan above its replay; many have no room."""
    pytest.importorskip("matplotlib")
    found = forecast(queries, None, write(NODES + DATABASE))
    found.gantt(tmp_path / "plan.svg")
    shown = (tmp_path / "plan.svg").read_text()
    assert "fat 1" in shown
    assert "replayed, with transfers" in shown
    found = forecast(queries, None, write(NODES.replace("count = 3", "count = 499") + DATABASE))
    with pytest.raises(InputError, match="room for 500 nodes, not 501"):
        found.gantt(tmp_path / "other.svg")


@pytest.mark.parametrize(
    ("text", "database", "message"),
    [
        (NODES, None, r"describes no database: name one, or add \[database\]"),
        (NODES + DATABASE, {"a": "MKV"}, "describes a database, but one is given"),
        (NODES.replace("{cpu = 8}", "{cpu = -8}") + DATABASE, None, "thin: cpu: gcups must be"),
        (NODES.replace("cpu = 8}", "cpu = 1e-9}") + DATABASE, None, "thin: gcups must be from"),
        (NODES.replace("cpu = 8}", "cpu = 1e99}") + DATABASE, None, "thin: cpu: gcups must be"),
        (NODES.replace("cpu = 8}", "tpu = 8}") + DATABASE, None, "thin: rates are"),
        (NODES.replace("cpu = 8}", "cpu = true}") + DATABASE, None, "thin: cpu: rates are num"),
    ],
)
def test_what_cannot_be_planned_is_refused(write, text, database, message):
    """With the file and the kind of nodes."""
    path = write(text)
    with pytest.raises(InputError, match=message) as caught:
        forecast("MKVLAW", database, path)
    assert caught.value.file == str(path)


def test_gpus_that_are_not_here_need_rates(write, monkeypatch):
    """The message says so."""
    monkeypatch.setattr("swdual.prediction.preview.list_gpus", lambda: [])
    text = "[[nodes]]\ncpus = 1\ngpus = 1\nrates = {cpu = 8}\n"
    with pytest.raises(InputError, match="no GPU here to measure: give its speed"):
        forecast("MKVLAW", None, write(text + DATABASE))


def test_the_planner_and_the_hits_are_checked(write):
    path = write(NODES + DATABASE)
    with pytest.raises(InputError, match="unknown planner 'best'"):
        forecast("MKVLAW", None, path, planner="best")
    with pytest.raises(InputError, match="`max_target_seqs` is -1"):
        forecast("MKVLAW", None, path, max_target_seqs=-1)


def test_a_thousand_nodes_are_planned_in_seconds(write):
    """For ten thousand queries and a database of the size of UniRef90; it takes about five."""
    rng = np.random.default_rng(5)
    lengths = np.clip(rng.lognormal(5.7, 0.6, 10_000), 30, 5000).astype(int)
    many = {f"q{k}": "ACDEFGHIKL" * (n // 10 + 1) for k, n in enumerate(lengths)}
    text = NODES.replace("count = 3", "count = 900").replace("count = 2", "count = 100")
    text = text.replace("cpus = 4", "cpus = 64") + "database = false\n"
    uniref = "[database]\nresidues = 60_000_000_000\nsequences = 184_000_000\nlongest = 45_000\n"
    found = forecast(many, None, write(text + uniref))
    assert found.partition.cells.sum() == sum(map(len, many.values())) * sum(
        place.residues for place in found.partition.ranges
    )
    assert found.plan.makespan <= 1.02 * found.plan.lower_bound
    assert found.plan.makespan <= found.makespan < 1.2 * found.plan.makespan
    assert len(found.partition.shares) <= 50_000
    assert found.loads[1].blocks < 30
