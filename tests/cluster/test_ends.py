"""A search on a cluster that cannot go on ends with one clear line, and loses nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from support.clusters import PATIENCE, held

import swdual
from swdual.cluster.connection import CONNECT_SECONDS
from swdual.errors import ClusterError, InputError
from swdual.master.checkpoint import Checkpoint
from swdual.runtime.extras import install_command

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install '.[cluster]'")

SEARCH = ["search", "long.fa", "wide.db", "-k", "20", "-o", "hits.tsv"]


pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("many_shares")]


@pytest.fixture
def long(here, data):
    """The folder with a search of a few seconds; returns what it finds."""
    for name in ("long.fa", "wide.db", "wide.fa"):
        (here / name).symlink_to(data / name)
    found = swdual.search("long.fa", "wide.db", max_target_seqs=20)
    found.write(here / "whole.tsv")
    return (here / "whole.tsv").read_bytes()


@pytest.fixture
def soon(monkeypatch):
    """Lost nodes are given up at once."""
    monkeypatch.setattr("swdual.cluster.membership.WAIT_SECONDS", 0.5)


@pytest.fixture
def after(monkeypatch):
    """A function that has something happen when so many records are kept."""

    def patch(count, act):
        keep, left = Checkpoint.keep, [count]

        def kept(self, record):
            keep(self, record)
            left[0] -= 1
            if left[0] == 0:
                act()

        monkeypatch.setattr(Checkpoint, "keep", kept)

    return patch


def one_line(outcome, code, *words):
    """The outcome is an error of one line that has these words; then the remedy may follow."""
    assert outcome.code == code, outcome.err
    errors = [line for line in outcome.err.splitlines() if "error: " in line]
    assert len(errors) == 1, outcome.err
    assert "Traceback" not in outcome.err
    for word in words:
        assert word in errors[0]


def nothing_written(here):
    assert not (here / "hits.tsv").exists()
    assert not (here / ".hits.tsv.part").exists()


@pytest.fixture
def hold(here):
    """While there is this file, workers of `begun` end no search."""
    (here / "hold").touch()
    return here / "hold"


def begun(make_cluster, hold, words=SEARCH):
    """Begin a search in a process of its own; return both when each worker has done one share."""
    cluster = make_cluster(2, program=held(hold, free=1))
    command = [sys.executable, "-m", "swdual", *words, "--cluster", cluster.address]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    until = time.monotonic() + PATIENCE
    while not os.path.exists("hits.tsv.journal") or os.path.getsize("hits.tsv.journal") < 2000:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.02)
    return cluster, process


@pytest.mark.case(number=27)
def test_all_workers_lost_end_the_search_and_it_goes_on(run, here, long, make_cluster, soon, after):
    """Case 27: exit code 5; on another cluster, then here, it goes on to the same bytes."""
    first = make_cluster(2)
    after(5, lambda: [worker.kill() for worker in first.workers])
    outcome = run(*SEARCH, "--cluster", first.address)
    one_line(outcome, 5, "all nodes are lost", "127.0.0.1")
    assert "--resume" in outcome.err.splitlines()[-1]
    nothing_written(here)
    second = make_cluster(2)
    after(5, lambda: [worker.kill() for worker in second.workers])
    outcome = run(*SEARCH, "--cluster", second.address, "--resume")
    one_line(outcome, 5, "all nodes are lost")
    nothing_written(here)
    outcome = run(*SEARCH, "--resume")
    assert outcome.code == 0, outcome.err
    assert (here / "hits.tsv").read_bytes() == long
    assert not (here / "hits.tsv.journal").exists()


def test_what_was_begun_here_goes_on_there(run, here, long, pair, after):
    def stop():
        raise KeyboardInterrupt

    after(5, stop)
    assert run(*SEARCH).code == 130
    outcome = run(*SEARCH, "--cluster", pair.address, "--resume")
    assert outcome.code == 0, outcome.err
    assert (here / "hits.tsv").read_bytes() == long


@pytest.mark.case(number=27)
@pytest.mark.parametrize("shards", [None, 3], ids=["whole", "shards"])
def test_a_client_that_is_killed_goes_on(run, here, long, make_cluster, hold, shards):
    words = SEARCH
    if shards:
        words = [*SEARCH[:2], "parts.db", *SEARCH[3:]]
        swdual.makedb("wide.fa", "parts.db", shards=shards).close()
    cluster, process = begun(make_cluster, hold, words)
    process.kill()
    process.communicate()
    hold.unlink()
    assert not (here / "hits.tsv").exists()
    outcome = run(*words, "--cluster", cluster.address, "--resume")
    assert outcome.code == 0, outcome.err
    assert (here / "hits.tsv").read_bytes() == long
    assert sorted(path.name for path in here.glob("*hits*")) == ["hits.tsv"]


def test_ctrl_c_frees_the_workers(run, here, long, make_cluster, hold):
    """Case 21: at once; the next search finds them idle."""
    cluster, process = begun(make_cluster, hold)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert errors.splitlines()[-1].endswith(b"with --resume goes on from there")
    nothing_written(here)
    hold.unlink()
    with distributed.Client(cluster.address) as client:
        until = time.monotonic() + PATIENCE
        while any(client.processing().values()):
            assert time.monotonic() < until
            time.sleep(0.02)
        assert not client.has_what() or not any(client.has_what().values())
    outcome = run(*SEARCH, "--cluster", cluster.address, "--resume")
    assert outcome.code == 0, outcome.err
    assert (here / "hits.tsv").read_bytes() == long


@pytest.mark.parametrize("who", ["workers", "scheduler"])
def test_ctrl_c_ends_a_search_though_the_cluster_stands_still(here, long, make_cluster, hold, who):
    cluster, process = begun(make_cluster, hold)
    for part in cluster.workers if who == "workers" else [cluster.scheduler]:
        part.signal(signal.SIGSTOP)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert errors.splitlines()[-1].endswith(b"with --resume goes on from there")
    nothing_written(here)


@pytest.mark.case(number=27)
def test_a_scheduler_that_is_lost_ends_the_search(run, here, long, make_cluster, pair, after):
    cluster = make_cluster(2)
    after(5, cluster.scheduler.kill)
    outcome = run(*SEARCH, "--cluster", cluster.address)
    one_line(outcome, 5, "127.0.0.1", "the connection to the Dask scheduler is lost")
    assert "--resume" in outcome.err.splitlines()[-1]
    nothing_written(here)
    outcome = run(*SEARCH, "--cluster", pair.address, "--resume")
    assert outcome.code == 0, outcome.err
    assert (here / "hits.tsv").read_bytes() == long


@pytest.mark.smoke
@pytest.mark.case(number=27)
def test_no_scheduler_is_told_at_once(refuses):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = time.monotonic()
    words = [f"tcp://127.0.0.1:{port}: no Dask scheduler answers there", "dask scheduler"]
    refuses(5, words, "search", "q.fa", "t.fa", "--cluster", f"tcp://127.0.0.1:{port}")
    assert time.monotonic() - started < CONNECT_SECONDS


@pytest.mark.smoke
def test_a_host_that_is_none_is_told(refuses):
    words = ["tcp://no.such.host.invalid:8786: no Dask scheduler answers there"]
    refuses(5, words, "search", "q.fa", "t.fa", "--cluster", "tcp://no.such.host.invalid:8786")


@pytest.mark.smoke
@pytest.mark.parametrize("address", ["", "nonsense", "carrier://pigeon:1", "tcp://a:b", "tcp://"])
def test_what_is_no_address_is_refused(refuses, address):
    words = ["is no address such as tcp://host:8786"]
    refuses(1, words, "search", "q.fa", "t.fa", "--cluster", address)


@pytest.mark.smoke
@pytest.mark.case(number=27)
def test_who_listens_but_is_no_scheduler_is_told(refuses, monkeypatch):
    monkeypatch.setattr("swdual.cluster.connection.CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        words = [f"{address}: no Dask scheduler answers there"]
        refuses(5, words, "search", "q.fa", "t.fa", "--cluster", address)


@pytest.mark.case(number=27)
def test_a_cluster_without_workers_is_told(refuses, make_cluster, soon):
    cluster = make_cluster(0)
    words = ["has no workers", "dask worker"]
    refuses(5, words, "search", "q.fa", "t.fa", "--cluster", cluster.address)


@pytest.mark.smoke
def test_where_dask_is_not_installed_that_is_told(here):
    program = "import sys; sys.modules['distributed'] = None; from swdual.cli import main; main()"
    words = ["search", "q.fa", "t.fa", "--cluster", "tcp://127.0.0.1:8786"]
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 5, done.stderr
    assert "a cluster needs Dask" in done.stderr
    assert done.stderr.rstrip().endswith(install_command("cluster"))


@pytest.mark.smoke
def test_what_is_no_cluster_is_refused():
    with pytest.raises(InputError, match="not int"):
        swdual.search("MKV", {"t": "MKV"}, cluster=3)


def test_an_asynchronous_client_is_refused(pair):
    async def search():
        async with distributed.Client(pair.address, asynchronous=True) as client:
            with pytest.raises(InputError, match="asynchronous"):
                swdual.search("MKV", {"t": "MKV"}, cluster=client)
        return True

    assert asyncio.run(search())


def test_a_search_in_a_notebook(pair):
    """Where an event loop runs already."""

    async def search():
        return swdual.search("MKVLAWGG", {"t": "MKVLAWGG"}, cluster=pair.address)

    assert (
        asyncio.run(search())[0][0].score
        == swdual.search("MKVLAWGG", {"t": "MKVLAWGG"})[0][0].score
    )


def test_the_error_has_its_class(pair):
    with pytest.raises(ClusterError):
        swdual.search("MKV", {"t": "MKV"}, cluster="tcp://127.0.0.1:1")
