"""Workers that die, come and stall in the middle of a search change nothing of what it finds."""

from __future__ import annotations

import logging
import signal
import threading
from contextlib import ExitStack

import numpy as np
import pytest
from cluster.moments import OPTIONS, Moments, there
from support.clusters import held, releasing, slow

import swdual
from swdual.database import build

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install '.[cluster]'")


pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("many_shares")]


@pytest.fixture(autouse=True)
def watchful(monkeypatch, caplog):
    """New nodes are seen and told at once."""
    caplog.set_level("INFO", "swdual")
    monkeypatch.setattr("swdual.cluster.membership.LOOK_SECONDS", 0.1)


def shares(found, worker):
    """Return how many shares a worker did."""
    timeline = found.timing.timeline
    numbers = [k for k, name in enumerate(timeline.workers) if name == worker.address]
    return sum(span.worker in numbers and span.activity == "score" for span in timeline)


@pytest.fixture(params=["wide.db", "wide.fa", "parts.db"], ids=["there", "sent", "shards"])
def name(request, data, monkeypatch):
    """A database that all nodes have, whole or in shards, or none has: they are sent its blocks."""
    monkeypatch.setattr(build, "BLOCK_BYTES", 1 << 16)
    if request.param == "parts.db":
        swdual.makedb(data / "wide.fa", data / "parts.db", shards=3, force=True).close()
    return request.param


@pytest.mark.case(number=27)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_worker_that_is_killed_is_done_without(data, local, make_cluster, name, seed):
    """At a random moment."""
    cluster = make_cluster(2, program=slow(0.03))
    moment = np.random.default_rng(seed).random()
    found = there(data, cluster, (moment, cluster.workers[0].kill), name=name)
    assert found == local
    assert shares(found, cluster.workers[1])


@pytest.fixture
def hold(tmp_path):
    """A file; as long as it is there, workers that are `held` begin no share."""
    return tmp_path / "hold"


def test_a_worker_that_comes_takes_part(data, local, make_cluster, name, hold):
    cluster = make_cluster(1, program=held(hold), threads=2)

    def add():
        hold.touch()
        cluster.add(program=releasing(hold))

    found = there(data, cluster, (0.1, add), name=name)
    assert found == local
    assert shares(found, cluster.workers[1])


@pytest.mark.case(number=27)
def test_one_comes_and_the_other_goes(data, local, make_cluster, name, hold):
    """At last nobody is left who was there at the beginning."""
    cluster = make_cluster(1, program=held(hold), threads=2)

    def add():
        hold.touch()
        cluster.add(program=releasing(hold))

    found = there(data, cluster, (0.1, add), (0.5, cluster.workers[0].kill), name=name)
    assert found == local
    assert shares(found, cluster.workers[1])


def test_a_worker_that_stalls_for_a_while_is_waited_for(data, local, make_cluster):
    cluster = make_cluster(2, program=slow(0.03))
    stalled = cluster.workers[0]

    def stall():
        stalled.signal(signal.SIGSTOP)
        threading.Timer(1.5, stalled.signal, [signal.SIGCONT]).start()

    found = there(data, cluster, (0.3, stall))
    assert found == local


def test_a_restart_of_all_workers_is_survived(data, local, dask_cluster):
    """Though Dask then forgets everything that it was asked for."""

    def restart():
        with distributed.Client(dask_cluster, set_as_default=False) as other:
            other.restart()

    found = swdual.search(
        data / "long.fa",
        data / "wide.db",
        cluster=dask_cluster,
        progress=Moments((0.3, restart)),
        **OPTIONS,
    )
    assert found == local
    assert len(found.timing.timeline.workers) == 4


def test_a_worker_that_takes_the_address_of_a_lost_one_is_another(data, local, make_cluster):
    """Though the client did not look in between: it knows nothing of the search yet."""
    cluster = make_cluster(1, program=slow(0.03))
    fixed = cluster.add(program=slow(0.03))
    port = fixed.address.rpartition(":")[2]

    def exchange():
        fixed.kill()
        again = cluster.add("--worker-port", port, program=slow(0.03))
        assert again.address == fixed.address

    found = there(data, cluster, (0.3, exchange))
    assert found == local


DEADLY = """
    import os
    import swdual.cluster.remote as node

    node.score = lambda *arguments: os._exit(9)
"""


def test_what_kills_every_node_ends_the_search(data, make_cluster):
    """Though each time another node has come: they may all have too little memory."""
    cluster = make_cluster(2, program=DEADLY)
    with ExitStack() as end:
        stop = threading.Event()

        def revive():
            while not stop.wait(0.1):
                alive = [x for x in cluster.workers if x.process.poll() is None]
                if len(alive) < 2:
                    cluster.begin(program=DEADLY)

        reviver = threading.Thread(target=revive)
        end.callback(reviver.join)
        end.callback(stop.set)
        reviver.start()
        with pytest.raises(swdual.ClusterError, match="4 nodes died at the same task, the last at"):
            there(data, cluster)


DASK_MEMORY = [f"DASK_DISTRIBUTED__WORKER__MEMORY__{what}" for what in ("PAUSE", "SPILL", "TARGET")]


class Release(logging.Handler):
    """Deletes a file when a message has these words."""

    def __init__(self, words, hold):
        super().__init__()
        self.words, self.hold = words, hold

    def emit(self, record):
        if self.words in record.getMessage():
            self.hold.unlink(missing_ok=True)


def test_one_that_joins_and_has_too_little_memory_is_left_out(
    data, local, make_cluster, caplog, hold
):
    """With a warning; if none has enough at the beginning, that is an error."""
    cluster = make_cluster(1, program=held(hold), threads=2)
    words = "smallest workable limit"

    def add():
        hold.touch()
        # By default Dask gives a worker nothing to do that has no memory left.
        cluster.add("--memory-limit", "90MB", environment=dict.fromkeys(DASK_MEMORY, "false"))

    release = Release(words, hold)
    logging.getLogger("swdual").addHandler(release)
    try:
        found = there(data, cluster, (0.1, add))
    finally:
        logging.getLogger("swdual").removeHandler(release)
    assert found == local
    assert any(words in record.message for record in caplog.records)
    with pytest.raises(swdual.MemoryLimitError, match=rf"^on \S+ \(tcp:.*{words}"):
        there(data, cluster, memory_limit=1 << 20)
