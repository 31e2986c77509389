"""Remote databases: what is fetched and when, the cache, and what is refused."""

from __future__ import annotations

import os
import pickle
import threading

import fsspec
import numpy as np
import pytest
from support.http_files import HttpFiles

import swdual
from swdual.database import build
from swdual.database import remote as cached
from swdual.database.database import Database
from swdual.database.makedb import makedb
from swdual.database.remote import shard_url
from swdual.errors import DatabaseError, InputError, OutputError
from swdual.io import remote

BLOCKS = 5


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Requests of some hundred bytes, and none after a delay."""
    monkeypatch.setattr(remote, "DELAYS", (0.0, 0.0))
    monkeypatch.setattr(remote, "CHUNK_BYTES", 5000)


@pytest.fixture
def cache(here, monkeypatch):
    """The folder of the cache."""
    folder = here / "cache"
    monkeypatch.setattr(cached, "_find_folder", lambda: folder)
    return folder


@pytest.fixture
def server(here, cache, monkeypatch):
    """A database of some blocks, also in shards, and what serves both."""
    rng = np.random.default_rng(1)
    letters = list("ARNDCQEGHILKMFPSTWYV")
    records = {f"t{k}": "".join(rng.choice(letters, rng.integers(20, 300))) for k in range(300)}
    text = "".join(f">{name} title\n{residues}\n" for name, residues in records.items())
    (here / "all.fa").write_text(text)
    with monkeypatch.context() as patch:
        patch.setattr(build, "BLOCK_BYTES", 12000)
        makedb("all.fa", "all.db", mask="seg").close()
        makedb("all.fa", "shards.db", shards=3).close()
    with HttpFiles(here) as files:
        yield files


def held(cache):
    """Return the names of what is in the cache."""
    return sorted(os.listdir(cache)) if cache.exists() else []


@pytest.mark.parametrize("name", ["all.db", "shards.db"])
def test_a_remote_database_is_the_same(server, here, name):
    """All that it holds, in every order of reading."""
    with Database.open(name) as local, Database.open(server.url(name)) as other:
        assert other.manifest == local.manifest
        assert len(local.manifest.blocks) >= BLOCKS
        assert other.held_bytes == 0
        other.check()
        assert list(other) == list(local)
        assert other["t7"] == local["t7"]
        assert list(other.sizes()) == list(local.sizes())
        facts = {**local.facts(letters=True), "file": other.name}
        assert other.facts(letters=True) == facts
        for mask in local.masks:
            for number in range(len(local.manifest.blocks)):
                mine, theirs = other.masked(mask), local.masked(mask)
                np.testing.assert_array_equal(mine.intervals(number), theirs.intervals(number))


def test_at_first_only_header_and_manifest_are_read(server):
    """The second time, the manifest is there already."""
    size = os.path.getsize("all.db")
    for count in range(2):
        server.sent.clear()
        with Database.open(server.url("all.db")) as database:
            metadata = len(database.metadata)
        manifest = metadata - 256
        assert server.sent["all.db"] == 1 + 256 + (0 if count else manifest)
    assert metadata < size / 5


def test_sections_are_read_when_they_are_first_used(server):
    """A record is read with its block, all header lines, and the order of the input."""
    with Database.open(server.url("all.db")) as database:
        sections = {each.name: each.bytes for each in database.manifest.sections}
        server.sent.clear()
        database.lookup(["t3"])
        assert server.sent["all.db"] == sections["names"] + sections["offsets"]
        server.sent.clear()
        first = database["t3"]
        numbers, _ = database.locate([3])
        ordinals = sum(v for name, v in sections.items() if name.startswith("ordinals/"))
        block = sum(sections[f"{kind}/{numbers[0]}"] for kind in ("residues", "starts", "lengths"))
        assert server.sent["all.db"] == ordinals + block
        server.sent.clear()
        assert database["t3"] == first
        assert not server.sent


def test_a_search_fetches_each_byte_once_and_the_next_search_none(server, here):
    options = {"evalue": 1e9, "comp_based_stats": 0}
    results = [swdual.search("q.fa", "all.db", **options)]
    for _ in range(2):
        server.sent.clear()
        results.append(swdual.search("q.fa", server.url("all.db"), **options))
    assert results[0] == results[1] == results[2]
    assert sum(map(len, results[0]))
    assert server.sent["all.db"] < 1000


@pytest.mark.parametrize("name", ["all.db", "shards.db"])
def test_outputs_have_the_same_bytes_but_for_the_name(server, run, here, name):
    for outfmt in ("6", "0", "5"):
        options = ("-f", outfmt, "-e", "1e9", "-k", "3")
        there = run("search", server.url("q.fa"), server.url(name), *options)
        local = run("search", "q.fa", name, *options)
        assert (there.code, local.code) == (0, 0), there.err
        assert there.out.replace(server.url(name), name) == local.out
        assert local.out


def test_all_commands_read_urls(server, run, here):
    url, fasta = server.url("shards.db"), server.url("q.fa")
    for words in (
        ("extract", "DB", "t3", "t5"),
        ("extract", "DB", "--all"),
        ("iterate", "q.fa", "DB", "--iterations", "2", "-e", "1e9", "-f", "6"),
        ("allpairs", "DB", "-e", "10", "--comp-based-stats", "0"),
        ("align", "q.fa", "FASTA"),
        ("mask", "FASTA"),
        ("search", "FASTA", "FASTA", "-k", "2"),
        ("cluster", "DB", "--min-identity", "50"),
    ):
        here_is, there = {"DB": "shards.db", "FASTA": "q.fa"}, {"DB": url, "FASTA": fasta}
        local, other = (
            run(*(names.get(word, word) for word in words)) for names in (here_is, there)
        )
        assert (local.code, other.code) == (0, 0), (words, other.err)
        assert other.out.replace(url, "shards.db").replace(fasta, "q.fa") == local.out
        assert other.out
    assert run("makedb", fasta, "new.db").code == 0
    assert (here / "new.db").exists()
    assert run("plan", fasta, url).code == 0


def test_info_reads_little(server, run):
    outcome = run("info", server.url("shards.db"))
    assert "shards here 3" in outcome.out
    assert sum(server.sent.values()) < os.path.getsize("shards.db") / 4
    assert run("info", server.url("shards.db"), "--check").code == 0


def test_secrets_are_shown_nowhere(server, run, here):
    """Not in outputs, the journal, the title of a database, nor messages."""
    url = server.url("all.db", "me:secret@", "?key=secret")
    fasta = server.url("q.fa", "me:secret@", "?key=secret")
    for outfmt in ("7", "5", "0", "html"):
        outcome = run("search", fasta, url, "-f", outfmt, "-o", f"out.{outfmt}", "-v")
        assert outcome.code == 0
        assert "secret" not in outcome.err
        assert b"secret" not in (here / f"out.{outfmt}").read_bytes()
    assert run("makedb", fasta, "new.db", "-v").code == 0
    assert b"secret" not in (here / "new.db").read_bytes()
    for words in (("info", url), ("info", url + "&x", "--json"), ("plan", fasta, url)):
        outcome = run(*words)
        assert outcome.code == 0
        assert "secret" not in outcome.out + outcome.err
    server.failures[:] = [403] * 3
    outcome = run("info", url)
    assert outcome.code == 2
    assert "access is denied" in outcome.err
    assert "secret" not in outcome.err
    server.failures.clear()
    with Database.open(url) as database:
        assert "secret" not in repr(database) + database._repr_html_() + database.name
        assert database.location == url
        assert list(pickle.loads(pickle.dumps(database))) == list(database)


@pytest.mark.parametrize("failures", [[500, None, 503], ["cut"] * 2, ["flip"]], ids=str)
def test_failures_that_pass_change_nothing(server, failures):
    with Database.open("all.db") as local, Database.open(server.url("all.db")) as database:
        server.failures[:] = failures
        assert list(database) == list(local)
        assert not server.failures


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda data: data[:-10], "has .* bytes where .* are promised|truncated: "),
        (lambda data: data[:100], "truncated header"),
        (lambda data: b"", "is empty"),
        (lambda data: b"X" + data[1:], "not a swdual database"),
        (lambda data: data[:40] + b"X" + data[41:], "damaged header"),
        (lambda data: data[:-5] + b"X" + data[-4:], "damaged section 'manifest'"),
    ],
    ids=range(6),
)
def test_damage_is_found_when_it_is_opened(server, here, harm, words):
    (here / "bad.db").write_bytes(harm((here / "all.db").read_bytes()))
    with pytest.raises(DatabaseError, match=words):
        Database.open(server.url("bad.db")).close()


def test_damage_is_found_when_it_is_used(server, here):
    """After it was fetched twice; it is not taken from the cache later on."""
    with Database.open("all.db") as local:
        (offset,) = (s.offset for s in local.manifest.sections if s.name == "residues/2")
    data = bytearray((here / "all.db").read_bytes())
    right = bytes(data)
    data[offset + 100] ^= 1
    (here / "bad.db").write_bytes(data)
    with Database.open(server.url("bad.db")) as database:
        database.block(1)
        with pytest.raises(DatabaseError, match=r"damaged section 'residues/2'.*copy it there"):
            database.block(2)
        with pytest.raises(DatabaseError, match="damaged section 'residues/2'"):
            database.block(2)
    (here / "bad.db").write_bytes(right)
    with Database.open(server.url("bad.db")) as database:
        database.block(2)


def test_a_file_that_changes_is_found(server, here):
    """What is fetched is compared with the manifest that was read."""
    with Database.open(server.url("all.db")) as database:
        database.block(0)
        makedb("q.fa", "all.db", force=True).close()
        database.block(0)
        with pytest.raises(DatabaseError, match=r"was changed while it was read|cannot be read"):
            database.block(3)
    with Database.open(server.url("all.db")) as database:
        assert len(database) == 2


def test_shards_that_are_missing_or_of_another_database_are_refused(server, here, run):
    url = server.url("shards.db")
    other = (here / "shards.db.001").read_bytes()
    os.rename("shards.db.002", "kept")
    assert "shards here 2" in run("info", url).out
    outcome = run("search", "q.fa", url)
    assert outcome.code == 2
    assert (
        "shards.db.002: cannot be opened: it is shard 2 of 3: there is no such file" in outcome.err
    )
    (here / "shards.db.002").write_bytes(other[:-4096])
    assert "promised" in run("search", "q.fa", url).err
    (here / "shards.db.002").write_bytes(other.ljust(os.path.getsize("kept"), b"\0"))
    assert run("search", "q.fa", url).code == 2
    os.replace("kept", "shards.db.002")
    assert run("search", "q.fa", url).code == 0


def test_a_server_without_ranges_is_refused_for_databases(server, run):
    server.ranges = False
    outcome = run("search", "q.fa", server.url("all.db"))
    assert outcome.code == 2
    assert "cannot send parts of files; download it" in outcome.err
    assert run("search", "q.fa", server.url("all.fa")).code == 0


def test_threads_and_processes_share_the_cache(server, cache):
    """Each section is fetched once, though many ask for it."""
    with Database.open(server.url("all.db")) as database, Database.open("all.db") as local:
        wanted = list(local)
        server.sent.clear()
        found = []
        threads = [threading.Thread(target=lambda: found.append(list(database))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [wanted] * 4
        assert server.sent["all.db"] < os.path.getsize("all.db")
        server.sent.clear()
        with Database.open(server.url("all.db")) as again:
            assert list(again) == wanted
        assert server.sent["all.db"] == 257


def test_what_is_damaged_in_the_cache_is_fetched_again(server, cache):
    with Database.open(server.url("all.db")) as database:
        wanted = list(database)
    (name,) = held(cache)
    data = bytearray((cache / name).read_bytes())
    data[5000:9000] = bytes(4000)
    (cache / name).write_bytes(data[:-50])
    with Database.open(server.url("all.db")) as database:
        assert list(database) == wanted


def test_the_cache_is_limited(server, cache, here, monkeypatch):
    """Those go first that were opened longest ago; one in use stays, and its readers go on."""
    size = os.path.getsize("all.db")
    monkeypatch.setenv("SWDUAL_REMOTE_CACHE", f"{3 * size // 2048}k")
    with Database.open(server.url("all.db")) as first:
        wanted = list(first)
        assert len(held(cache)) == 1
        with Database.open(server.url("shards.db")) as second:
            second.check()
            assert list(second) == wanted
        assert list(first) == wanted
    assert sum(os.stat(cache / name).st_blocks * 512 for name in held(cache)) <= 1.5 * size


def test_without_a_cache_nothing_is_left(server, cache, monkeypatch):
    monkeypatch.setenv("SWDUAL_REMOTE_CACHE", "0")
    with Database.open(server.url("shards.db")) as database, Database.open("all.db") as local:
        assert list(database) == list(local)
        assert held(cache) == []
    monkeypatch.setenv("SWDUAL_REMOTE_CACHE", "much")
    with pytest.raises(InputError, match="SWDUAL_REMOTE_CACHE is 'much', but it must be a size"):
        Database.open(server.url("all.db"))


def test_a_folder_takes_the_place_of_the_cache(server, cache, here):
    with Database.open(server.url("all.db"), folder=here / "mine") as database:
        assert sum(1 for _ in database) == 300
    assert held(cache) == []
    assert len(held(here / "mine")) == 1


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o022, 0o027, 0o077])
def test_nobody_else_can_write_to_the_folder(server, here, umask, mask):
    """Under any umask, also to the folders above it that are made with it."""
    umask(mask)
    with Database.open(server.url("all.db"), folder=here / "a/b/c") as database:
        database.check()
    for name in ("a", "a/b", "a/b/c"):
        assert (here / name).stat().st_mode & 0o777 == 0o700


def test_a_cache_that_others_can_change_is_an_error(server, cache, monkeypatch):
    """Sections are mapped from there while it is in use."""
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(
        DatabaseError, match=r"others; remove it\); make room, or name another folder"
    ):
        Database.open(server.url("all.db"))


def test_where_nothing_can_be_kept_files_have_no_name(server, here, monkeypatch):
    """In the folder for temporary files others could foresee the names."""
    monkeypatch.undo()
    monkeypatch.setattr(cached, "cache_folder", lambda: None)
    monkeypatch.setattr("tempfile.tempdir", str(here / "tmp"))
    (here / "tmp").mkdir()
    with Database.open(server.url("all.db")) as database:
        assert held(here / "tmp") == []
        database.check()


def test_a_full_disk_is_an_error(server, cache, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    with Database.open(server.url("all.db")) as database:
        monkeypatch.setattr(cached.os, "pwrite", refuse)
        with pytest.raises(DatabaseError, match=r"cannot be kept in .*No space left.*make room"):
            database.block(0)


def test_the_next_block_is_fetched_while_one_is_scored(server, cache):
    with Database.open(server.url("all.db")) as database:
        database.targets(0, 0, 1)
        thread = database._storage._ahead
        assert thread is not None
        thread.join()
        server.sent.clear()
        database.block(1)
        assert not server.sent
        database.block(2)
        assert server.sent


def test_a_database_can_be_closed_while_a_block_is_fetched(server, cache, monkeypatch):
    """Nothing is written to a file that is closed: its number may be that of another one."""
    going, closed = threading.Event(), threading.Event()
    read, written = remote.RemoteFile.read, []

    def waits(self, start, stop):
        data = read(self, start, stop)
        going.set()
        closed.wait(60)
        return data

    with Database.open(server.url("all.db")) as database:
        database.block(0)
        monkeypatch.setattr(remote.RemoteFile, "read", waits)
        database.targets(0, 0, 1)
        thread = database._storage._ahead
        assert going.wait(60)
    monkeypatch.setattr(cached.os, "pwrite", lambda *given: written.append(given))
    closed.set()
    thread.join(60)
    assert not thread.is_alive()
    assert not written


def test_urls_are_not_written_to(server, run, here):
    outcome = run("makedb", "q.fa", "s3://bucket/new.db")
    assert outcome.code == 6
    assert "s3://bucket/new.db: is a URL, but a database is written to local files" in outcome.err
    outcome = run("search", "q.fa", "t.fa", "-o", "s3://bucket/hits.tsv")
    assert outcome.code == 6
    assert "is a URL, but results are written to local files" in outcome.err
    with pytest.raises(OutputError, match="is a URL"):
        makedb("q.fa", "memory://new.db")


def test_databases_in_memory_and_archives(server, cache, here):
    """Whatever fsspec knows, of which ``memory://`` and ``zip://`` are two."""
    memory = fsspec.filesystem("memory")
    memory.pipe("/all.db", (here / "all.db").read_bytes())
    archive = fsspec.filesystem("zip", fo=os.fspath(here / "all.zip"), mode="w")
    archive.pipe("all.db", (here / "all.db").read_bytes())
    archive.close()
    with Database.open("all.db") as local:
        for url in (
            "memory://all.db",
            f"file://{here}/all.db",
            f"zip://all.db::{server.url('all.zip')}",
        ):
            with Database.open(url) as database:
                assert list(database) == list(local)
    memory.store.clear()


@pytest.mark.parametrize(
    ("database", "shard"),
    [
        ("s3://b/x.db", "s3://b/x.db.007"),
        ("https://h/x.db?key=a.b", "https://h/x.db.007?key=a.b"),
        ("zip://x.db::https://h/a.zip?key", "zip://x.db.007::https://h/a.zip?key"),
        ("simplecache::s3://b/x.db", "simplecache::s3://b/x.db.007"),
    ],
)
def test_shards_lie_beside_their_database(database, shard):
    assert shard_url(database, 7) == shard
