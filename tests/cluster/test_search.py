"""A search on a cluster gives what it gives on one machine: the same bytes, the same objects."""

from __future__ import annotations

import os

import numpy as np
import pytest
from support.genes import random_genes, random_proteins
from support.http_files import HttpFiles

import swdual
from swdual.cluster import executor as cluster_executor
from swdual.cluster import partition
from swdual.database.database import Database
from swdual.database.mapping import MemoryFile
from swdual.master import setup
from swdual.profiles import Profile
from swdual.sequences.alphabet import CODES
from swdual.statistics.karlin_altschul import KarlinAltschul

pytestmark = pytest.mark.cluster

dask = pytest.importorskip("dask", reason="needs Dask")
distributed = pytest.importorskip("distributed", reason="needs Dask: pip install '.[cluster]'")

SCORES = ("-f", "6 qseqid sseqid score evalue adjustment lambda_ratio")

PROTEINS = {
    "plain": [],
    "fit": ["--stats", "fit"],
    "none": ["--stats", "none"],
    "one hit": ["-k", "1"],
    "all hits": ["-k", "0", "-e", "1e9"],
    "aligned": ["-f", "0"],
    "not aligned": ["-f", "6 qseqid sseqid score evalue"],
    "scheme": ["--matrix", "PAM30", "--gapopen", "9", "--gapextend", "1"],
    "min score": ["--min-raw-score", "60"],
    "verified": ["--verify", "3"],
    "cpu": ["--device", "cpu", "--threads", "1"],
    "self_scheduling": ["--planner", "self_scheduling"],
    "memory": ["--memory-limit", "8G"],
    "filters": ["--min-identity", "25", "--min-target-cover", "20", "-k", "4", "-e", "1e6"],
    "filters, not aligned": ["--min-identity", "25", "-f", "6 qseqid sseqid score", "-e", "1e6"],
    "top": ["--top", "60", "-e", "1e6"],
    "composition": ["--comp-based-stats", "2", "-f", "0", "-e", "1e3"],
    "composition, not aligned": ["--comp-based-stats", "3", "-e", "1e3", *SCORES],
    "masked": ["--mask", "tantan:0.01", "-f", "6 std qseq nident positive", "-e", "1e6"],
    "masked, adjusted": ["--mask", "tantan:0.01", "--comp-based-stats", "2", "-e", "1e3"],
    "soft masks": ["--mask", "tantan:0.01", "--soft-masking", "-f", "6 std qseq", "-e", "1e6"],
    "soft masks, not aligned": ["--mask", "tantan:0.01", "--soft-masking", "-e", "1e6", *SCORES],
    "soft masks, adjusted": [
        *("--mask", "tantan:0.01", "--soft-masking", "--comp-based-stats", "2", "-e", "1e3"),
    ],
    "targets": ["--db-hard-mask", "tantan:0.01", "-f", "6 std qseq sseq", "-e", "1e6"],
    "targets, soft": ["--db-soft-mask", "tantan:0.01", "-f", "6 std sseq full_sseq", "-e", "1e6"],
    "several alignments": ["--max-hsps", "4", "-e", "1e6", "-f", "6 std qcovs cigar"],
    "several, plain": ["--max-hsps", "0", "--comp-based-stats", "0", "-e", "100", "-f", "0"],
    "several, fitted": ["--max-hsps", "3", "--stats", "fit", "-e", "100", "-f", "5"],
    "several, late": ["--max-hsps", "3", "--min-query-cover", "5", "-e", "1e6", *SCORES],
    "organisms": ["--taxids", "9606", "-e", "1e6", "-f", "6 std staxids", "--verify", "2"],
    "organisms, adjusted": ["--not-taxids", "9606", "-e", "1e3", "-f", "0"],
    "organisms, masked": [
        *("--taxids", "562", "--db-soft-mask", "tantan:0.01", "--search-space", "database"),
        *("-e", "1e6", "-f", "6 std sseq"),
    ],
    "organisms, not aligned": ["--taxids", "9606", "-e", "1e3", *SCORES],
    "identifiers": ["-seqidlist", "ids", "-e", "1e6"],
    "identifiers, left out": ["-negative_seqidlist", "ids", "-e", "1e3", "-f", "7"],
    "part of queries": ["-query_loc", "20-60", "-e", "1e3", "-f", "0"],
    "top of filtered": ["--top", "40", "--min-identity", "25", "-e", "1e6"],
}

NUCLEOTIDES = {
    "both": ["--dbtype", "nucl"],
    "minus": ["--strand", "minus"],
    "several alignments": ["--max-hsps", "4", "-f", "sam"],
    "fit": ["--stats", "fit", "-k", "0"],
    "sam": ["-f", "sam"],
}


@pytest.fixture
def both(run, here):
    """A function that searches here and on a cluster; returns what each wrote."""

    def search(cluster, *words):
        written = []
        for name, more in (("local", []), ("there", ["--cluster", cluster.address])):
            outcome = run("search", *words, *more, "-o", f"{name}.out", "--force")
            assert outcome.code == 0, outcome.err
            written.append((here / f"{name}.out").read_bytes())
        assert written[0].count(b"\n") >= 5
        return written

    return search


@pytest.mark.smoke(3)
@pytest.mark.parametrize("options", PROTEINS.values(), ids=PROTEINS.keys())
def test_proteins_are_found_as_on_one_machine(both, data, pair, here, options):
    (here / "ids").write_text("".join(f"t{k}\n" for k in range(0, 300, 3)))
    local, there = both(pair, data / "q.fa", data / "d.db", *options)
    assert there == local


PAIRS = {
    "plain": ("allpairs", "few.db", "--comp-based-stats", "0", "-e", "1e3"),
    "adjusted": ("allpairs", "few.db", "-e", "1e3", *SCORES),
    "none": ("allpairs", "few.db", "--stats", "none", "--min-raw-score", "40"),
    "a file": ("allpairs", "q.fa", "-e", "1e6", "-f", "6 std sseq relscore"),
    "clusters": ("cluster", "few.db", "--min-identity", "20", "-c", "10", "-e", "10"),
}


@pytest.mark.smoke(2)
@pytest.mark.usefixtures("many_shares")
@pytest.mark.parametrize("words", PAIRS.values(), ids=PAIRS.keys())
def test_all_pairs_are_found_as_on_one_machine(run, here, data, pair, words):
    """A node gets the ranks of the queries with the search."""
    name, source, *options = words
    written = []
    for out, more in (("local", []), ("there", ["--cluster", pair.address])):
        outcome = run(name, data / source, *options, *more, "-o", f"{out}.tsv", "--force")
        assert outcome.code == 0, outcome.err
        written.append((here / f"{out}.tsv").read_bytes())
    assert written[0].count(b"\n") >= 2
    assert written[1] == written[0]


@pytest.mark.smoke(1)
def test_a_profile_finds_there_what_it_finds_here(data, pair):
    """Its scores travel with the tasks: the letters, all A, would score otherwise."""
    rng = np.random.default_rng(1)
    statistics = KarlinAltschul(0.267, 0.05, 0.14), KarlinAltschul(0.318, 0.15, 0.4)
    scores = rng.integers(-6, 5, (60, CODES))
    profile = Profile("drawn", bytes(60), scores, None, None, *statistics)
    options = {"evalue": 1e6, "max_target_seqs": 40, "verify": 2}
    here, there = (
        [
            (hit.id, hit.score, hit.evalue, hit.alignment.btop)
            for hit in swdual.search(profile, data / "d.db", cluster=cluster, **options)[0]
        ]
        for cluster in (None, pair.address)
    )
    assert len(here) > 10
    assert there == here


@pytest.mark.smoke(1)
def test_rounds_there_are_those_here(data, pair):
    """Each searches with the profiles of the hits that the nodes aligned in the one before."""
    given = data / "q.fa", data / "d.db"
    options = {"iterations": 2, "inclusion": 1.0}
    here, there = (
        [*swdual.iterate(*given, cluster=cluster, **options)] for cluster in (None, pair.address)
    )
    assert [done.results for done in there] == [done.results for done in here]
    assert there[-1].profiles == here[-1].profiles
    assert any(here[0].included)
    assert [done.number for done in here] == [1, 2]


def test_multiple_alignments_there_are_those_here(run, data, pair, here):
    """The same bytes: rounds on the nodes, in one database after the other."""
    given = ("msa", data / "q.fa", data / "d.db", data / "few.db", "--inclusion", "1")
    assert run(*given, "-o", "here/").code == 0
    assert run(*given, "-o", "there/", "--cluster", pair.address).code == 0
    local, remote = (sorted((here / name).iterdir()) for name in ("here", "there"))
    assert [path.name for path in local] == [path.name for path in remote]
    assert [path.read_bytes() for path in local] == [path.read_bytes() for path in remote]
    assert max(path.read_text().count(">") for path in local) > 10


STORED = {
    "hard": {"db_hard_mask": "stored"},
    "soft": {"db_soft_mask": "stored"},
    "composition": {"comp_based_stats": 2},
    "late": {"db_soft_mask": "stored", "align": False},
}


@pytest.mark.smoke(1)
@pytest.mark.parametrize("is_file", [True, False], ids=["file", "sent"])
@pytest.mark.parametrize("options", STORED.values(), ids=STORED.keys())
def test_stored_masks_are_used_as_on_one_machine(data, pair, here, options, is_file):
    """Nodes read the file, or get blocks with their masks."""
    mask = "seg:10,1.8,2.1"
    swdual.makedb(data / "d.fa", here / "m.db", mask=mask).close()
    file = MemoryFile((here / "m.db").read_bytes(), "m.db")
    database = Database.open(here / "m.db") if is_file else Database(file)
    with database:
        asked = {"evalue": 1e3, **options}
        local = swdual.search(data / "q.fa", database, **asked)
        there = swdual.search(data / "q.fa", database, cluster=pair.address, **asked)
        assert list(there) == list(local)
        assert sum(map(len, local)) > 5
        for one, two in zip(there, local, strict=True):
            assert [hit.alignment for hit in one] == [hit.alignment for hit in two]
            assert [str(hit.target) for hit in one] == [str(hit.target) for hit in two]


@pytest.mark.smoke(1)
@pytest.mark.parametrize("shards", [None, 2])
def test_nodes_fetch_what_they_need_of_a_url(data, pair, here, monkeypatch, shards):
    """With the credentials of the URL; the client neither sends blocks nor fetches them."""
    swdual.makedb(data / "d.fa", here / "d.db", shards=shards).close()
    with HttpFiles(here) as server, Database.open(here / "d.db") as local:
        monkeypatch.setattr(Database, "block_bytes", None)
        url, asked = server.url("d.db", "me:secret@"), {"evalue": 1e3, "align": True}
        wanted = swdual.search(data / "q.fa", local, **asked)
        with Database.open(url, folder=here / "cache") as database:
            found = swdual.search(data / "q.fa", database, cluster=pair.address, **asked)
            rows = [[str(hit.alignment) for hit in result] for result in found]
            kept = {*database._storage._verified}
        assert found == wanted
        assert rows == [[str(hit.alignment) for hit in result] for result in wanted]
        assert sum(map(len, found)) > 5
        assert not any(name.startswith("residues") for name in kept)
        size = sum(os.path.getsize(here / name) for name in os.listdir(here) if ".db" in name)
        assert sum(server.sent.values()) < 3.1 * size


@pytest.mark.smoke(1)
@pytest.mark.parametrize("options", NUCLEOTIDES.values(), ids=NUCLEOTIDES.keys())
def test_nucleotides_are_found_as_on_one_machine(both, data, pair, options):
    local, there = both(pair, data / "nq.fa", data / "nd.db", *options)
    # The first line of SAM's header that tells the program has the command in it.
    lines = [[each for each in text.splitlines() if b"@PG" not in each] for text in (local, there)]
    assert lines[0] == lines[1]


@pytest.mark.smoke(1)
@pytest.mark.parametrize(
    ("task", "frameshift"), [("blastx", 0), ("blastx", 15), ("tblastn", 0), ("tblastx", 0)]
)
def test_frames_are_found_as_on_one_machine(pair, task, frameshift):
    """Queries travel with their frames, and the frames of targets as blocks."""
    proteins = random_proteins(5, 6)
    genes = random_genes(6, proteins)
    queries = proteins if task == "tblastn" else genes
    targets = proteins if task == "blastx" else genes
    options = {"task": task, "evalue": 1e6, "dbtype": "prot" if task == "blastx" else "nucl"}
    options["frameshift"] = frameshift
    here, there = (
        [
            (hit.id, hit.score, hit.evalue, hit.query_frame, hit.target_frame, str(hit.alignment))
            for result in swdual.search(queries, targets, cluster=cluster, **options)
            for hit in result
        ]
        for cluster in (None, pair.address)
    )
    assert len(here) > 10
    assert there == here


@pytest.mark.parametrize("stats", ["table", "fit"])
def test_waves_and_shares_change_nothing(both, data, pair, monkeypatch, stats):
    """As many shares as there can be, of a query each, and a wave of two queries."""
    monkeypatch.setattr(setup, "MAX_BATCH_QUERIES", 2)
    monkeypatch.setattr(setup, "MAX_FITTED_QUERIES", 2)
    monkeypatch.setattr(partition, "MIN_SHARE_SECONDS", 1e-6)
    local, there = both(pair, data / "q.fa", data / "d.db", "--stats", stats, "-e", "1e6")
    assert there == local


def test_the_first_batches_are_small(data, pair, monkeypatch, caplog):
    """Each may have four times as many queries as the one before; results are the same."""
    monkeypatch.setattr(cluster_executor, "FIRST_SECONDS", 1e-9)
    many = random_proteins(7, 30)
    with caplog.at_level("DEBUG", logger="swdual"):
        found = swdual.search(many, data / "d.db", evalue=1e6, cluster=pair.address)
    batches = [record.args[0] for record in caplog.records if record.msg.startswith("batch: ")]
    assert batches == ["1 query", "4 queries", "16 queries", "9 queries"]
    assert found == swdual.search(many, data / "d.db", evalue=1e6)


@pytest.mark.smoke
def test_objects_are_equal(data, pair):
    """Also alignments that are found when they are looked at."""
    search = data / "q.fa", data / "d.db"
    local = swdual.search(*search)
    there = swdual.search(*search, cluster=pair.address)
    assert there == local
    assert [hit.alignment for hit in there[1]] == [hit.alignment for hit in local[1]]
    assert list(swdual.iter_search(*search, cluster=pair.address)) == list(local)


def test_counts_of_adjusted_pairs_are_those_of_one_machine(data, pair):
    """Nodes adjust them."""
    given = data / "q.fa", data / "d.db"
    options = {"comp_based_stats": 2, "evalue": 1e-3}
    here = swdual.search(*given, **options)
    there = swdual.search(*given, **options, cluster=pair.address)
    assert there == here
    assert there.adjustment_counts == here.adjustment_counts


def test_nodes_have_threads(both, data, make_cluster):
    cluster = make_cluster(1, threads=2)
    local, there = both(cluster, data / "long.fa", data / "d.db", "-f", "0")
    assert there == local


def test_a_client_or_a_cluster_may_be_given(data, dask_cluster):
    """Neither is closed."""
    search = data / "q.fa", data / "d.db"
    local = swdual.search(*search)
    assert swdual.search(*search, cluster=dask_cluster) == local
    with distributed.Client(dask_cluster) as client:
        assert swdual.search(*search, cluster=client) == local
        assert client.submit(sum, [1, 2]).result() == 3
        assert not [key for key in client.futures if str(key).startswith("swdual")]


def test_two_clients_search_at_once(data, pair):
    """Each hit by hit in turns with the other."""
    long = data / "long.fa", data / "wide.db"
    short = data / "q.fa", data / "d.db"
    wanted = swdual.search(*long, max_target_seqs=5), swdual.search(*short)
    first = swdual.iter_search(*long, max_target_seqs=5, cluster=pair.address)
    found = [next(first)]
    assert swdual.search(*short, cluster=pair.address) == wanted[1]
    found += first
    assert found == list(wanted[0])


def test_nodes_forget_a_search_that_is_left(data, pair):
    """Nothing of it remains on any worker, whoever stops looking at its results."""
    results = swdual.iter_search(data / "q.fa", data / "d.db", cluster=pair.address)
    next(results)
    results.close()
    with distributed.Client(pair.address) as client:
        client.wait_for_workers(2)
        assert not any(client.has_what().values())


def test_records_are_searched_without_a_file(data, pair):
    """Nodes are sent what there is only here."""
    targets = {"t1": "MKVLAWGGHERMKV", "t2": "GGGGWW", "t3": "MKVLAWDEFGG"}
    local = swdual.search("MKVLAWGGHERMKVLAWDEF", targets, min_raw_score=3)
    there = swdual.search("MKVLAWGGHERMKVLAWDEF", targets, min_raw_score=3, cluster=pair.address)
    assert there == local
    assert len(there[0]) > 1


def test_fasta_is_searched(both, data, pair):
    local, there = both(pair, data / "q.fa", data / "d.fa")
    assert there == local


def test_a_sharded_database_is_searched_as_one(both, data, pair, sharded):
    local, there = both(pair, data / "q.fa", sharded)
    assert there == local


@pytest.mark.case(number=27)
def test_a_shard_that_nobody_has_is_told(refuses, here, data, pair, sharded):
    """Case 27: exit code 2, and which file."""
    (here / "s.db.001").unlink()
    words = ["s.db.001: is missing", "copy it here, or to a node: none has it ("]
    refuses(2, words, "search", data / "q.fa", sharded, "--cluster", pair.address)


def test_annotations_say_which_workers(data, pair):
    """As those of Dask's users do for anything else."""
    wanted = swdual.search(data / "q.fa", data / "d.db")
    for worker in pair.workers:
        with distributed.Client(pair.address) as client, dask.annotate(workers=[worker.address]):
            found = swdual.search(data / "q.fa", data / "d.db", cluster=client)
        assert found == wanted
        assert found.timing.timeline.workers == (worker.address,)


def test_annotations_say_what_shares_need(data, make_cluster):
    cluster = make_cluster(1)
    large = cluster.add("--resources", "LARGE=1")
    with distributed.Client(cluster.address) as client, dask.annotate(resources={"LARGE": 1}):
        found = swdual.search(data / "q.fa", data / "d.db", cluster=client)
    assert found == swdual.search(data / "q.fa", data / "d.db")
    assert found.timing.timeline.workers == (large.address,)


def test_a_card_that_is_declared_but_not_there_is_done_without(run, here, data, make_cluster):
    """The CPU of its node computes; who wants GPUs only is told on which host there is none."""
    cluster = make_cluster(1)
    other = cluster.add("--resources", "GPU=1")
    wanted = swdual.search(data / "q.fa", data / "d.db")
    assert swdual.search(data / "q.fa", data / "d.db", cluster=cluster.address) == wanted
    search = "search", data / "q.fa", data / "d.db", "--cluster", cluster.address
    outcome = run(*search, "--device", "cuda")
    assert outcome.code == 3, outcome.err
    last = outcome.err.splitlines()[-1]
    assert f"({other.address}): there is no NVIDIA driver" in last
    assert f"({cluster.workers[0].address}): declares no GPU; start it with --resources" in last
