"""Clusters of separate processes on this machine, and data for searches that take a moment."""

from __future__ import annotations

import os
from contextlib import ExitStack

import numpy as np
import pytest
from cluster.moments import OPTIONS
from support.clusters import cluster_of

import swdual
from swdual.cluster import partition
from swdual.database import build

LETTERS = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)
BASES = np.frombuffer(b"ACGT", np.uint8)


@pytest.fixture
def many_shares(monkeypatch):
    """Searches are cut into many shares, though they take a moment only."""
    monkeypatch.setattr(partition, "MIN_SHARE_SECONDS", 0.005)


@pytest.fixture(scope="session")
def pair(tmp_path_factory):
    """A cluster of two workers with a thread each; tests leave it as it is."""
    with cluster_of(tmp_path_factory.mktemp("pair"), 2) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def dask_cluster(tmp_path_factory):
    """A cluster of two workers as Dask itself starts it: it starts again those that end."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        local_directory=os.fspath(tmp_path_factory.mktemp("dask")),
    ) as cluster:
        yield cluster


@pytest.fixture
def make_cluster(tmp_path_factory):
    """A function that makes a cluster of so many workers, which may be harmed."""
    with ExitStack() as end:

        def make(workers=2, **options):
            folder = tmp_path_factory.mktemp("cluster")
            return end.enter_context(cluster_of(folder, workers, **options))

        yield make


def drawn(rng, letters, length):
    return rng.choice(letters, length).tobytes().decode()


def family(seed, letters, queries, targets):
    """Return queries, and targets of which some hold pieces of them; lengths as given."""
    rng = np.random.default_rng(seed)
    asked = [drawn(rng, letters, length) for length in queries]
    found = []
    for number, length in enumerate(targets):
        text = drawn(rng, letters, length)
        if number % 7 == 0:
            query = asked[number % len(asked)]
            cut = int(rng.integers(0, len(query) // 2))
            text = text[: length // 3] + query[cut : cut + 60] + text[length // 3 :]
        found.append(text)
    return asked, found


def write(path, name, texts, endings=("",)):
    titles = (f"{name}{k} number {k}{endings[k % len(endings)]}" for k in range(len(texts)))
    path.write_text(
        "".join(f">{title}\n{text}\n" for title, text in zip(titles, texts, strict=True))
    )


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with small and large searches of proteins and nucleotides, and their databases.

    ``q.fa`` in ``d.db`` takes a moment, as all pairs of ``few.db`` do; ``long.fa`` in ``wide.db``
    takes a second or a few of a thread.
    """
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(9)
    for queries, targets, seed, letters, shape in (
        ("q", "d", 1, LETTERS, ((5, 30, 120, 7, 60, 300), rng.integers(1, 300, 700))),
        ("fq", "few", 4, LETTERS, ((120, 60, 300), rng.integers(1, 300, 120))),
        ("nq", "nd", 2, BASES, ((40, 200, 25), rng.integers(20, 400, 300))),
        ("long", "wide", 3, LETTERS, ((1000,) * 24, rng.integers(300, 500, 1500))),
    ):
        asked, found = family(seed, letters, *shape)
        write(folder / f"{queries}.fa", "q", asked)
        write(folder / f"{targets}.fa", "t", found, (" OX=9606", " OX=562", ""))
        kind = "nucl" if letters is BASES else "prot"
        swdual.makedb(folder / f"{targets}.fa", folder / f"{targets}.db", dbtype=kind)
    return folder


@pytest.fixture(scope="session")
def local(data):
    """What the large search finds on one machine."""
    return swdual.search(data / "long.fa", data / "wide.db", **OPTIONS)


@pytest.fixture
def sharded(data, here, monkeypatch):
    """A database in three parts, of several blocks, each of which is in one file only."""
    monkeypatch.setattr(build, "BLOCK_BYTES", 1 << 14)
    swdual.makedb(data / "d.fa", here / "s.db", shards=3)
    return here / "s.db"
