"""A search over a network: scheduler, workers and client each in a network namespace of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from itertools import count

import pytest
from support.clusters import PATIENCE, Cluster, held, releasing

import swdual

pytest.importorskip("distributed", reason="needs Dask: pip install '.[cluster]'")

CLIENT = """
import sys
from swdual.cluster import partition
from swdual.cli import main

partition.MIN_SHARE_SECONDS = 0.01
main(sys.argv[1:])
"""
"""The command, with many shares though the search takes a moment only."""

HITS = 20


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=60)


def may():
    """Return whether this process may make namespaces and connect them."""
    if shutil.which("ip") is None:
        return False
    name = f"swdual-{os.getpid()}-may"
    done = subprocess.run(["ip", "netns", "add", name], check=False, capture_output=True)
    if done.returncode:
        return False
    pair = ["-n", name, "link", "add", "left", "type", "veth", "peer", "name", "right"]
    done = subprocess.run(["ip", *pair], check=False, capture_output=True)
    ip("netns", "delete", name)
    return done.returncode == 0


pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not may(), reason="needs the right to make namespaces (root)"),
]


class Network:
    """Machines at a switch, each a namespace; the machine that this runs on is not among them."""

    def __init__(self, end):
        self._end = end
        self._prefix = f"swdual-{os.getpid()}"
        self._count = count(1)
        self.hub = self._namespace("hub")
        ip("-n", self.hub, "link", "add", "switch", "type", "bridge")
        ip("-n", self.hub, "link", "set", "switch", "up")

    def machine(self):
        """Return the address of a new machine, and what runs a command on it."""
        number = next(self._count)
        name = self._namespace(f"m{number}")
        port = f"port{number}"
        link = ["-n", self.hub, "link", "add", port, "type", "veth"]
        ip(*link, "peer", "name", "net", "netns", name)
        ip("-n", self.hub, "link", "set", port, "master", "switch", "up")
        ip("-n", name, "address", "add", f"10.99.0.{number}/24", "dev", "net")
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "link", "set", "net", "up")
        return f"10.99.0.{number}", ("ip", "netns", "exec", name)

    def cut(self, address):
        """Pull out the cable of the machine with this address."""
        number = address.rpartition(":")[0].rpartition(".")[2]
        ip("-n", self.hub, "link", "set", f"port{number}", "down")

    def moved(self):
        """Return the bytes that all machines have sent, as the switch counts them."""
        shown = subprocess.run(
            ["ip", "netns", "exec", self.hub, "cat", "/proc/net/dev"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        rows = (line.split() for line in shown.splitlines())
        return sum(int(row[1]) for row in rows if row[0].startswith("port"))

    def _namespace(self, name):
        name = f"{self._prefix}-{name}"
        ip("netns", "add", name)
        self._end.callback(ip, "netns", "delete", name)
        return name


@contextmanager
def network_cluster(folder, patch):
    """A network with a scheduler and two workers, and what runs a command at the client."""
    patch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP", "11s")  # who is silent for longer is gone
    program = held(folder / "hold")
    with ExitStack() as end:
        network = Network(end)
        host, command = network.machine()
        cluster = Cluster(folder, host, command)
        end.callback(cluster.close)
        for worker in [cluster.begin(command=network.machine()[1], program=program) for _ in "12"]:
            cluster.there(worker)
        yield network, cluster, network.machine()[1]


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    with (
        pytest.MonkeyPatch.context() as patch,
        network_cluster(tmp_path_factory.mktemp("network"), patch) as found,
    ):
        yield found


@pytest.fixture
def search(here, data, apart):
    """A function that begins the search at the client."""
    _, cluster, client = apart
    swdual.search(data / "long.fa", data / "wide.db", max_target_seqs=HITS).write(
        here / "local.tsv"
    )

    def begin(*more):
        words = ["search", data / "long.fa", data / "wide.db", "-k", str(HITS), "-o", "there.tsv"]
        words += ["--cluster", cluster.address, *more]
        return subprocess.Popen([*client, sys.executable, "-c", CLIENT, *words], cwd=here)

    return begin


def ends_well(process, here):
    assert process.wait(300) == 0
    assert (here / "there.tsv").read_bytes() == (here / "local.tsv").read_bytes()


def has_shares(worker, here):
    """Return whether a worker did shares, by the trace of the search."""
    trace = json.loads((here / "there.json").read_bytes())
    threads = [
        each["tid"]
        for each in trace["traceEvents"]
        if each["ph"] == "M" and worker.address in json.dumps(each)
    ]
    return any(
        each["tid"] in threads and each["ph"] == "X" and "score" in json.dumps(each)
        for each in trace["traceEvents"]
    )


def in_the_middle(process, here):
    """Wait until something is kept."""
    journal = here / "there.tsv.journal"
    until = time.monotonic() + PATIENCE
    while not journal.exists() or journal.stat().st_size < 2000:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)


def test_few_bytes_move(search, here, data, apart):
    """The best of each query, not all scores: at most 100 hits of 64 bytes for each asked for."""
    network, _, _ = apart
    before = network.moved()
    ends_well(search(), here)
    queries = (data / "long.fa").read_text().count(">")
    moved = (network.moved() - before) / queries
    print(f"{moved:,.0f} bytes a query")
    assert moved <= 100 * HITS * 64


def test_the_client_is_killed_and_resumes(search, here):
    process = search()
    in_the_middle(process, here)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    assert not (here / "there.tsv").exists()
    ends_well(search("--resume"), here)


def test_a_worker_is_killed_and_another_comes(search, here, apart):
    network, cluster, _ = apart
    hold = cluster.folder / "hold"
    process = search("--trace", "there.json")
    in_the_middle(process, here)
    hold.touch()
    other = cluster.begin(command=network.machine()[1], program=releasing(hold))
    cluster.workers[0].kill()
    ends_well(process, here)
    cluster.there(other)
    assert has_shares(other, here)


@pytest.mark.case(number=27)
def test_a_machine_that_falls_silent_is_done_without(search, here, apart):
    """Its cable is pulled out: nobody says goodbye."""
    network, cluster, _ = apart
    process = search()
    in_the_middle(process, here)
    network.cut(cluster.workers[1].address)
    ends_well(process, here)
