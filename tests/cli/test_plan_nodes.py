"""``swdual plan --nodes``: a search on a cluster that is not here."""

from __future__ import annotations

import json

import pytest

NODES = """
[[nodes]]
name = "thin"
count = 3
cpus = 4
rates = {cpu = 8}

[[nodes]]
name = "fat"
cpus = 4
gpus = 1
rates = {cpu = 8, gpu = 100}
memory = "100G"
"""
DATABASE = """
[database]
residues = 200_000_000
sequences = 570_000
longest = 35_000
"""
THERE = ("plan", "q.fa", "--nodes", "nodes.toml")


@pytest.fixture
def nodes(here):
    """Write a description of a cluster, by default of four nodes and a database."""

    def write(text=NODES + DATABASE):
        (here / "nodes.toml").write_text(text)

    write()
    return write


def shown(outcome):
    """Return the one JSON object of a run that went well."""
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.count("\n") == 1
    return json.loads(outcome.out, parse_constant=pytest.fail)


def test_a_forecast_is_shown_as_tables(run, nodes):
    """What is searched where, the plan and its replay, and the load of each kind of nodes."""
    outcome = run(*THERE)
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert " x 570,000 targets: " in lines[0]
    assert lines[1] == "cluster   nodes.toml: 4 nodes, 16 CPUs and 1 GPU"
    assert lines[2].startswith("shares    ")
    assert not any(line.startswith(("transfers", "rates")) for line in lines)
    heads = [line.split() for line in lines]
    assert ["planner", "shares", "planned", "replayed", "bound", "/", "bound"] in heads
    place = next(k for k, words in enumerate(heads) if words[:2] == ["nodes", "count"])
    assert [words[:2] for words in heads[place + 1 : place + 3]] == [["thin", "3"], ["fat", "1"]]
    assert lines[-1] == "Replayed in the simulator, the plan takes as long as planned."
    assert "-0" not in outcome.out
    assert all(line == line.rstrip() for line in lines)


def test_transfers_and_what_nodes_lack_are_said(run, nodes):
    """A database that must be sent over a slow network, memory that is too little."""
    text = NODES.replace("\nrates", "\ndatabase = false\nrates").replace('"100G"', '"1M"')
    nodes(text + "[network]\nbandwidth = '10M'\n" + DATABASE)
    out = run(*THERE).out
    assert "\ntransfers " in out
    assert "0.0 GiB of memory are too little: give such a node fewer cpus" in out
    assert "longer than planned: nodes wait for blocks.\n" in out


def test_one_object_has_it_all(run, nodes):
    """The plan as for one machine, its workers being the nodes, and what comes of it."""
    facts = shown(run(*THERE, "--json"))
    assert (facts["queries"], facts["targets"], facts["planner"]) == (2, 570_000, "dual")
    assert [worker["kind"] for worker in facts["workers"]] == ["cpu"] * 3 + ["gpu"]
    assert facts["replayed"] == pytest.approx(facts["makespan"], rel=1e-12)
    assert facts["transfers"]["blocks"] == 0
    assert [kind["name"] for kind in facts["kinds"]] == ["thin", "fat"]
    assert all(kind["memory"]["least"] <= kind["memory"]["total"] for kind in facts["kinds"])
    assert facts["rates"]["fat"]["gpu"]["gcups"]["1000"] == pytest.approx(100)
    assert sum(len(facts["groups"][group]) for group, _ in facts["shares"]) == 2 * len(
        facts["ranges"]
    )


def test_a_database_that_is_here_needs_no_description(run, nodes):
    """Whether it is a database or a FASTA file; the planner can be chosen."""
    nodes(NODES)
    plain = shown(run("plan", "q.fa", "t.fa", "--nodes", "nodes.toml", "--json"))
    assert plain["targets"] == 3
    assert run("makedb", "t.fa", "-o", "t.db").code == 0
    words = ("--nodes", "nodes.toml", "--json", "--planner", "heft")
    assert shown(run("plan", "q.fa", "t.db", *words))["planner"] == "heft"


def test_this_machine_has_rates_for_those_who_have_none(run, nodes):
    """And it is said."""
    nodes("[[nodes]]\ncpus = 2\n" + DATABASE)
    outcome = run(*THERE)
    assert outcome.code == 0
    assert "\nrates     this machine's for node 1\n" in outcome.out


def test_few_nodes_can_be_drawn(run, nodes, here):
    pytest.importorskip("matplotlib")
    assert run(*THERE, "--gantt", "n.svg").code == 0
    assert "fat 0" in (here / "n.svg").read_text()


@pytest.mark.parametrize(
    ("code", "words", "arguments"),
    [
        (1, "exclude each other", ("q.fa", "--nodes", "nodes.toml", "--cpus", "3")),
        (1, "--nodes and --gpus exclude", ("q.fa", "--nodes", "nodes.toml", "--gpus", "0")),
        (1, "--nodes and --rates exclude", ("q.fa", "--nodes", "nodes.toml", "--rates", "r")),
        (1, "--nodes and --times exclude", ("--nodes", "nodes.toml", "--times", "t.csv")),
        (1, "There are no queries", ("--nodes", "nodes.toml")),
        (1, "t.fa: one file of queries", ("q.fa", "t.fa", "t.fa", "--nodes", "nodes.toml")),
        (1, "Only one of queries and", ("-", "-", "--nodes", "nodes.toml")),
        (1, "--planner all compares", ("q.fa", "--nodes", "nodes.toml", "--planner", "all")),
        (1, "unknown planner", ("q.fa", "--nodes", "nodes.toml", "--planner", "best")),
        (1, "must end in", ("q.fa", "--nodes", "nodes.toml", "--gantt", "n.jpg")),
        (1, "none.toml: cannot be opened", ("q.fa", "--nodes", "none.toml")),
        (1, "one is given, too", ("q.fa", "t.fa", "--nodes", "nodes.toml")),
    ],
)
def test_what_makes_no_sense_is_refused(refuses, nodes, code, words, arguments):
    """Nothing is printed and nothing written."""
    refuses(code, [words], "plan", *arguments)


def test_a_damaged_description_is_refused_with_its_line(refuses, nodes):
    nodes("[[nodes]]\ncpus = = 3\n")
    refuses(1, ["nodes.toml:2: is not TOML"], *THERE)


def test_a_profile_is_a_query(run, here, nodes):
    """Of its length, without composition-based statistics."""
    (here / "m.fa").write_text(">a\nMKVLAWGGHERW\n>b\nMKVLSWGGHE-W\n")
    (here / "one.fa").write_text(">a\nMKVLAWGGHERW\n")
    words = ("--nodes", "nodes.toml", "--json", "--comp-based-stats", "0")
    plain = shown(run("plan", "one.fa", *words))
    found = shown(run("plan", "--msa", "m.fa", *words))
    for each, other in zip(found["kinds"], plain["kinds"], strict=True):  # its scores are larger
        assert each.pop("memory")["queries"] > other.pop("memory")["queries"]
    assert found == plain
