"""Nodes that are unlike the others: of another release, without the database, with parts of it."""

from __future__ import annotations

import shutil
import socket
import subprocess

import pytest
from cluster.moments import there
from support.clusters import slow

import swdual

pytestmark = pytest.mark.cluster

pytest.importorskip("distributed", reason="needs Dask: pip install '.[cluster]'")

ELSEWHERE = """
    import swdual.version

    swdual.version.__version__ = "0.0.1"
"""

WITHOUT = """
    import sys

    class Nowhere:
        def find_spec(self, name, *_):
            if name.partition(".")[0] == "swdual":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Nowhere())
"""

OTHER_PYTHON = """
    import platform

    platform.python_version = lambda: "2.7.18"
"""


@pytest.mark.case(number=27)
def test_a_worker_of_another_release_is_refused(refuses, data, make_cluster):
    cluster = make_cluster(1)
    other = cluster.add(program=ELSEWHERE)
    words = ["127.0.0.1", other.address, "has swdual 0.0.1, but here is", swdual.__version__]
    refuses(5, words, "search", data / "q.fa", data / "d.db", "--cluster", cluster.address)


@pytest.mark.case(number=27)
def test_a_worker_without_swdual_is_refused(refuses, data, make_cluster):
    cluster = make_cluster(1)
    other = cluster.add(program=WITHOUT)
    words = [other.address, "has no swdual, but here is release", "install it there"]
    refuses(5, words, "search", data / "q.fa", data / "d.db", "--cluster", cluster.address)


@pytest.mark.case(number=27)
def test_a_worker_of_another_python_is_refused(refuses, data, make_cluster):
    cluster = make_cluster(1)
    other = cluster.add(program=OTHER_PYTHON)
    words = [other.address, "runs Python 2.7.18, but here is", "use one everywhere"]
    refuses(5, words, "search", data / "q.fa", data / "d.db", "--cluster", cluster.address)


@pytest.mark.parametrize(
    "text",
    [ELSEWHERE, WITHOUT, OTHER_PYTHON],
    ids=["another release", "without", "another Python"],
)
def test_one_that_joins_is_left_out_with_a_warning(
    data, local, make_cluster, many_shares, caplog, monkeypatch, text
):
    """And when a node dies, what it did is not given to it."""
    monkeypatch.setattr("swdual.cluster.membership.LOOK_SECONDS", 0.1)
    cluster = make_cluster(2, program=slow(0.03))
    first = cluster.workers[0]

    def add():
        cluster.add(program=text)

    found = there(data, cluster, (0.1, add), (0.7, first.kill))
    assert found == local
    strange = cluster.workers[2]
    assert strange.process.poll() is None
    assert strange.address not in found.timing.timeline.workers
    said = [record.getMessage() for record in caplog.records if strange.address in record.message]
    assert len(said) == 1
    assert said[0].endswith("; it is not used")


def test_a_node_that_lacks_the_database_is_sent_it(run, here, data, make_cluster):
    """Nobody notices: what it needs comes from the client."""
    shutil.copy(data / "d.db", here / "d.db")
    cluster = make_cluster(2)
    assert run("search", data / "q.fa", "d.db", "-o", "local.tsv").code == 0
    # A relative path is one of the client's folder.
    outcome = run("search", data / "q.fa", "d.db", "-o", "o.tsv", "--cluster", cluster.address)
    assert outcome.code == 0, outcome.err
    assert (here / "o.tsv").read_bytes() == (here / "local.tsv").read_bytes()


def mounts():
    """Return whether this process may give another its own view of the file system."""
    command = ["unshare", "--mount", "true"]
    return (
        shutil.which("unshare") is not None
        and subprocess.run(command, check=False, capture_output=True).returncode == 0
    )


own_view = pytest.mark.skipif(not mounts(), reason="needs the right to mount (root)")


def seeing(folder, at):
    """Return what runs a command that sees a folder where there is another."""
    view = 'mount --bind "$1" "$2"; shift 2; exec "$@"'
    return "unshare", "--mount", "sh", "-c", view, "sh", folder, at


EVERYTHING = ["-e", "1e9", "-k", "0"]


@pytest.fixture
def local_bytes(run, here, data, sharded):
    """What is found in the sharded database on one machine."""
    assert run("search", data / "q.fa", sharded, *EVERYTHING, "-o", "local.tsv").code == 0
    return (here / "local.tsv").read_bytes()


@pytest.mark.case(number=27)
@own_view
@pytest.mark.parametrize("what", ["another", "none", "damaged"])
def test_what_lies_at_the_path_on_a_node_is_used_only_if_it_is_the_same(
    run, here, data, make_cluster, what
):
    shutil.copy(data / "d.db", here / "d.db")
    assert run("search", data / "q.fa", "d.db", "-o", "local.tsv").code == 0
    (here / "there").mkdir()
    if what == "another":
        shutil.copy(data / "wide.db", here / "there" / "d.db")
    elif what == "damaged":
        (here / "there" / "d.db").write_bytes((data / "d.db").read_bytes()[:-9])
    cluster = make_cluster(1)
    other = cluster.add(command=seeing(here / "there", here))
    outcome = run(
        "search", data / "q.fa", here / "d.db", "-o", "o.tsv", "--cluster", cluster.address
    )
    assert outcome.code == 0, outcome.err
    assert (here / "o.tsv").read_bytes() == (here / "local.tsv").read_bytes()
    warnings = [line for line in outcome.err.splitlines() if "it is not used" in line]
    assert len(warnings) == (what != "none"), outcome.err
    for line in warnings:
        assert other.address in line
        assert str(here / "d.db") in line


@pytest.fixture
def scattered(here, make_cluster, sharded):
    """Two nodes that have a shard each, the client has the third."""
    cluster = make_cluster(0)
    for shard in ("s.db.000", "s.db.001"):
        place = here.parent / f"{here.name}-{shard}"
        place.mkdir()
        shutil.copy(sharded, place)
        shutil.move(here / shard, place)
        cluster.add(command=seeing(place, here))
    return cluster


@own_view
def test_each_node_may_have_some_shards_only(run, here, data, local_bytes, scattered):
    """What a node lacks comes from another or from the client, and is kept."""
    search = ["search", data / "q.fa", "s.db", *EVERYTHING, "--cluster", scattered.address]
    times = {}
    for name in ("first.tsv", "second.tsv"):
        outcome = run(*search, "-o", name)
        assert outcome.code == 0, outcome.err
        assert (here / name).read_bytes() == local_bytes
        files = [path for worker in scattered.workers for path in worker.folder.rglob("swdual/*")]
        found = {path: path.stat().st_mtime_ns for path in files}
        assert found
        assert times.items() <= found.items()
        times = found


@pytest.mark.case(number=27)
@own_view
def test_a_node_that_alone_had_a_shard_may_die(run, here, data, scattered):
    """Case 27: exit code 2, and the hosts that do not have it."""
    scattered.workers[0].kill()
    search = ["search", data / "q.fa", "s.db", *EVERYTHING, "--cluster", scattered.address]
    outcome = run(*search, "-o", "o.tsv")
    assert outcome.code == 2, outcome.err
    assert "s.db.000: is missing" in outcome.err
    assert f"copy it here, or to a node: none has it ({socket.gethostname()})" in outcome.err
    assert not (here / "o.tsv").exists()
