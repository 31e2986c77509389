"""The tools for agents: what they answer, what they refuse, and that they read no other file."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest
from support.servers import SECONDS

import swdual
from swdual.database.makedb import makedb
from swdual.server.jobs import SearchJob
from swdual.server.limits import Limits
from swdual.server.service import ServerOptions, open_databases

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters, stdio_client

from swdual.server.agents import make_server

PAIRS = {"q1": "MKVLAWGGHERMKVLAWDEF", "q2": "ACDEFGHIKLMNPQRSTVWY"}
QUERIES = "".join(f">{name}\n{letters}\n" for name, letters in PAIRS.items())
TARGETS = {"t1 one": "MKVLAWGGHERMKV", "t2 two": "GGGGWW", "t3": "ACDEFGHIKLMNPQRSTVWYACD"}
stop = SearchJob.stop
LONG = "MKVLAWGGHERCDEFIPQRSTNY" * 2000
TABLE = "q1\tt1\t100\t14\t0\t0\t1\t14\t1\t14\t1e-9\t31.6\n"
SECRET = "MSECRETSECRETWAAAAG"

CALLS = {
    "list_databases": {},
    "search": {"database": "t.db", "queries": QUERIES},
    "extract": {"database": "t.db", "identifiers": ["t1"]},
    "align": {"pairs": "a\tMKVLAW\tb\tMKVIAW\n"},
    "audit": {"database": "t.db", "queries": QUERIES, "table": TABLE},
    "plan": {"database": "t.db", "queries": QUERIES},
    "msa": {"database": "t.db", "queries": QUERIES},
}
"""A call of each tool that succeeds."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a database, one in which a search of LONG takes long, and a secret file."""
    folder = tmp_path_factory.mktemp("databases")
    (folder / "t.fa").write_text("".join(f">{k}\n{v}\n" for k, v in TARGETS.items()))
    (folder / "s.fa").write_text("".join(f">s{k}\n{LONG}\n" for k in range(100)))
    for name in ("t", "s"):
        makedb([folder / f"{name}.fa"], folder / f"{name}.db").close()
    (folder / "secret.fa").write_text(f">secret\n{SECRET}\n")
    return folder


@pytest.fixture
def connect(folder, tmp_path):
    """Run a coroutine function with a client of a server in this process."""

    @asynccontextmanager
    async def connected(limits):
        options = ServerOptions(threads=2, device="cpu", limits=limits)
        with open_databases([str(folder / "t.db"), str(folder / "s.db")]) as opened:
            async with Client(make_server(opened, options, tmp_path)) as client:
                yield client
        assert not [*tmp_path.iterdir()]

    def call(function, **limits):
        async def limited():
            async with asyncio.timeout(SECONDS), connected(Limits(**limits)) as client:
                return await function(client)

        return asyncio.run(limited())

    return call


@pytest.fixture
def ask(connect):
    """Call a tool; return its results, which there must be."""

    def call(name, **arguments):
        answer = connect(lambda client: client.call_tool(name, arguments))
        assert not answer.is_error, answer.content[0].text
        assert set(answer.structured_content) == {"results", "messages"}
        return answer.structured_content["results"]

    return call


@pytest.fixture
def refuse(connect):
    """Call a tool, which must fail; return the message."""

    def call(name, arguments, **limits):
        answer = connect(lambda client: client.call_tool(name, arguments), **limits)
        assert answer.is_error
        return answer.content[0].text

    return call


def test_each_tool_says_what_it_does_and_changes_nothing(connect):
    tools = connect(Client.list_tools).tools
    assert [tool.name for tool in tools] == [*CALLS]
    for tool in tools:
        assert len(tool.description) > 80
        assert tool.annotations.read_only_hint
        assert tool.annotations.idempotent_hint
        assert tool.annotations.open_world_hint is False
        assert set(tool.output_schema["properties"]) == {"results", "messages"}
        assert tool.input_schema["additionalProperties"] is False


def test_hits_are_those_of_a_search(ask, folder):
    options = {"evalue": 5, "matrix": "BLOSUM80"}
    given = {**CALLS["search"], "options": options}
    expected = swdual.search(PAIRS, str(folder / "t.db"), **options)
    found = ask("search", **given, alignments=True)
    assert [each["query"] for each in found] == [*PAIRS]
    for each, result in zip(found, expected, strict=True):
        assert len(each["hits"]) == len(result) > 0
        assert each["more"] == 0
        for row, hit in zip(each["hits"], result, strict=True):
            assert row["stitle"] == hit.title
            assert (row["score"], row["bitscore"], row["evalue"]) == (
                *(hit.score, hit.bits, hit.evalue),
            )
            assert row["pident"] == pytest.approx(100 * hit.identity)
            assert (row["sstart"], row["send"]) == (hit.target_start + 1, hit.target_end)
            assert row["alignment"] == str(hit.alignment)
    short = ask("search", **given, max_hits=1)
    assert [len(each["hits"]) for each in short] == [1, 1]
    assert [each["more"] for each in short] == [len(result) - 1 for result in expected]
    assert "alignment" not in short[0]["hits"][0]


def test_each_occurrence_of_a_peptide_is_told(ask):
    given = {"database": "t.db", "queries": ">p\nMKV\n", "max_hits": 5}
    (found,) = ask("search", **given, options={"task": "peptide", "max_mismatches": 1})
    assert [(hit["sseqid"], hit["sstart"], hit["score"]) for hit in found["hits"]] == [
        ("t1", 1, 3),
        ("t1", 12, 3),
    ]
    assert found["more"] == 0


def test_records_come_by_identifiers_and_unknown_ones_are_told(connect, refuse):
    given = {"database": "t.db", "identifiers": ["t3", "t9"], "part": "2-4"}
    answer = connect(lambda client: client.call_tool("extract", given)).structured_content
    assert answer["results"] == [{"id": "t3", "length": 23, "fasta": ">t3\nCDE\n"}]
    assert "has no record 't9'" in answer["messages"][0]
    assert "has no record 't9'" in refuse("extract", {**given, "identifiers": ["t9"]})
    assert "FIRST-LAST" in refuse("extract", {**given, "part": "x"})


def test_pairs_are_aligned(ask, refuse):
    (found,) = ask("align", **CALLS["align"], options={"matrix": "BLOSUM45"})
    expected = swdual.align("MKVLAW", "MKVIAW", matrix="BLOSUM45")
    assert found["hits"][0]["score"] == expected.score
    assert found["hits"][0]["alignment"] == str(expected)
    assert "'evalue'" in refuse("align", {**CALLS["align"], "options": {"evalue": 1}})


def test_an_audit_counts_what_an_audit_here_counts(ask, folder, tmp_path_factory):
    table = tmp_path_factory.mktemp("tables") / "hits.tsv"
    table.write_text(TABLE)
    (found,) = ask("audit", **CALLS["audit"], options={"evalue": 1}, max_missed=1)
    expected = swdual.audit(table, PAIRS, str(folder / "t.db"), evalue=1)
    last = expected.summary()[-1]
    assert found["evalues"][-1] == {name: last[name] for name in last if name != "table"}
    assert [row["target"] for row in found["missed"]] == ["t3"]


def test_a_plan_and_an_alignment_are_those_of_the_library(ask, folder):
    (told,) = ask("plan", **CALLS["plan"])
    assert told["cells"] == 40 * 43
    assert told["seconds"] > 0 < told["memory"]
    found = ask("msa", **CALLS["msa"], inclusion=0.1)
    expected = swdual.msa(PAIRS, str(folder / "t.db"), inclusion=0.1)
    assert [each["rows"] for each in found] == [*map(len, expected)]
    rows = [line for each in found for line in each["a3m"].splitlines() if line[0] != ">"]
    assert rows == [row.decode() for each in expected for row in each.rows]
    assert len(found[0]["a3m"]) > len(QUERIES) / 2


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("search", {"database": "x.db"}, "there is no database 'x.db'; there are: t.db, s.db"),
        ("search", {"queries": ">q\nMK1\n"}, "queries:2: '1' is not an amino acid letter"),
        ("search", {"queries": ""}, "queries"),
        ("search", {"options": {"evalu": 1}}, "did you mean `evalue`"),
        ("search", {"options": {"evalue": -1}}, "`evalue` is '-1', but it must be at least 0"),
        ("search", {"options": {"threads": 9}}, "`threads` cannot be asked of a server"),
        ("search", {"options": {"max_mismatches": 1}}, "use `task='peptide'`"),
        ("plan", {"options": {"task": "peptide"}}, "there is nothing to plan"),
        ("search", {"max_hits": -1}, "max_hits"),
        ("search", {"max_hit": 1}, "max_hit"),
        ("extract", {"identifiers": "t1"}, "identifiers"),
        ("align", {"pairs": "MKV\n"}, "pairs:1: has 1 column"),
        ("audit", {"table": "nothing"}, "table: neither name nor content tells the format"),
        ("audit", {"queries": "MKV"}, "queries:1: expected '>'"),
        ("audit", {"options": {"top": 5}}, "top"),
        ("plan", {"database": ""}, "there is no database"),
        ("msa", {"inclusion": -1}, "inclusion"),
    ],
)
def test_bad_input_is_told(refuse, folder, name, change, words):
    message = refuse(name, {**CALLS[name], **change})
    assert words in message
    assert str(folder) not in message
    assert "tmp" not in message


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"cells": 1000}, "1,720 cells, but a job may have at most 1,000"),
        ({"query_bytes": 50}, "more than 50 bytes"),
        ({"result_bytes": 50}, "larger than 50 bytes"),
    ],
)
def test_limits_of_size_are_told(refuse, limits, words):
    assert words in refuse("search", CALLS["search"], **limits)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", {"database": "s.db", "queries": f">q\n{LONG}\n"}),
        (
            "audit",
            {
                "database": "s.db",
                "queries": f">q\n{LONG}\n",
                "table": TABLE.replace("q1\tt1", "q\ts1"),
            },
        ),
        ("msa", {"database": "s.db", "queries": f">q\n{LONG}\n"}),
        ("align", {"pairs": f"{LONG * 9}\t{LONG * 9}\n"}),
    ],
)
def test_a_limit_of_time_ends_the_work(refuse, name, arguments):
    message = refuse(name, arguments, job_seconds=0.2)
    assert "the job ran longer than 0.2 seconds; send fewer queries at a time" in message


def test_a_call_that_is_cancelled_stops(connect, monkeypatch):
    """The next one runs, which it could not while the first does."""
    stopped = []
    monkeypatch.setattr(
        SearchJob, "stop", lambda job, problem: (stopped.append(job), stop(job, problem))
    )

    async def give_up(client):
        begun = asyncio.Event()

        async def note(*progress):
            begun.set()

        given = {"database": "s.db", "queries": f">q\n{LONG[:5000]}\n"}
        call = asyncio.create_task(client.call_tool("search", given, progress_callback=note))
        await begun.wait()
        call.cancel()
        return await client.call_tool("search", CALLS["search"])

    assert not connect(give_up).is_error
    assert len(stopped) == 1


TEXTS = [
    (name, argument)
    for name, arguments in CALLS.items()
    for argument in (*arguments, *{"extract": ("part",), "audit": ("before",)}.get(name, ()))
]
OPTIONS = (
    *("matrix", "taxonomy", "target_ids", "not_target_ids", "taxids", "not_taxids", "mask"),
    *("db_hard_mask", "db_soft_mask", "journal", "task", "query_loc", "dbtype", "cluster"),
)


@pytest.mark.parametrize("place", [*TEXTS, *(("search", option) for option in OPTIONS)])
@pytest.mark.parametrize("form", ["{}", "file://{}", "-", "@{}", "{}\t{}", ">q\n{}\n"])
def test_no_file_is_read(connect, folder, place, form):
    """An answer does not have what a file holds, and does not tell whether it is there."""
    name, argument = place
    answers = []
    for file in (folder / "secret.fa", folder / "absent.fa"):
        text = form.replace("{}", str(file))
        value = [text] if argument == "identifiers" else text
        change = {"options": {argument: value}} if argument in OPTIONS else {argument: value}
        answer = connect(lambda client, change=change: client.call_tool(name, CALLS[name] | change))
        told = json.dumps(answer.structured_content) + "".join(x.text for x in answer.content)
        assert SECRET not in told
        answers.append(told.replace("secret", "absent"))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("there", ["secret.fa", "absent.fa"])
def test_a_matrix_file_in_the_header_of_a_table_is_refused(refuse, folder, there):
    head = "# DIAMOND v2.1.8. http://github.com/bbuchfink/diamond\n"
    head += f"# Invocation: diamond blastp --matrix {folder / there} --query a --db b\n"
    head += "# Fields: Query ID, Subject ID, Percentage of identical matches, Length, Mismatches, "
    head += "Gap openings, Query start, Query end, Subject start, Subject end, E-value, Bit score\n"
    message = refuse("audit", {**CALLS["audit"], "table": head + TABLE})
    assert "`matrix` is" in message
    assert "but it must be one of BLOSUM45" in message


@pytest.fixture
def command(folder, tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    return [sys.executable, "-m", "swdual", "mcp", str(folder / "t.db")], environment


@pytest.mark.process
def test_a_client_lists_and_runs_each_tool_over_stdio(command, tmp_path):
    (program, *arguments), environment = command

    async def run():
        server = StdioServerParameters(command=program, args=arguments, env=environment)
        async with asyncio.timeout(SECONDS * 4), Client(stdio_client(server)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            return {name: await client.call_tool(name, CALLS[name]) for name in names}

    answers = asyncio.run(run())
    assert [*answers] == [*CALLS]
    for answer in answers.values():
        assert not answer.is_error, answer.content[0].text
        assert answer.structured_content["results"]
    assert not [*tmp_path.iterdir()]


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.mark.process
@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(None, 0, ""), (signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_it_ends_in_order(command, tmp_path, number, code, word):
    """With the input, or by a signal although the input is open."""
    words, environment = command
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, env=environment, text=True, **pipes) as process:
        process.stdin.write(json.dumps(HELLO) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "swdual"
        if number is None:
            process.stdin.close()
        else:
            process.send_signal(number)
        assert process.wait(SECONDS) == code
        assert process.stdout.read() == ""
        errors = process.stderr.read()
    assert word in errors
    assert "Traceback" not in errors
    assert not [*tmp_path.iterdir()]
