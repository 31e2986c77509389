"""Outages: files of them, and failures that are drawn."""

from itertools import islice, takewhile

import numpy as np
import pytest

from swdual.errors import InputError
from swdual.scheduling import Outage, Outages
from swdual.scheduling.outages import parse


def _write(path, *rows, header="kind,start,end,nodes"):
    path.write_text("\n".join([header, *rows, ""]))
    return path


def test_a_file_is_read(tmp_path):
    path = _write(
        tmp_path / "outages.csv",
        "3 5-6,10.5,drain,20",
        "",
        "0,1,failure,2",
        header="nodes, start, kind, end",
    )
    outages = Outages.load(path, checkpoint=60)
    assert outages.checkpoint == 60
    found = [(x.kind, x.start, x.end, x.nodes.tolist()) for x in outages.outages]
    assert found == [("failure", 1, 2, [0]), ("drain", 10.5, 20, [3, 5, 6])]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("drain,1,2", "has 3 columns, but the header 4"),
        ("drian,1,2,0", "unknown kind of outage 'drian'"),
        ("drain,one,2,0", "column start: 'one' is neither seconds nor a date"),
        ("drain,1_0,20,0", "column start: '1_0' is neither seconds nor a date"),
        ("drain,2024-05-01,2,0", "when the trace began is not known"),
        ("drain,1,nan,0", "lasts from its start to a later end, not from 1 to nan"),
        ("drain,1,inf,0", "not from 1 to inf"),
        ("drain,2,2,0", "not from 2 to 2"),
        ("drain,1,2,", "one at least"),
        ("drain,1,2,x", "'x' is no range"),
        ("drain,1,2,3-2", "not ascending"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, row, reason):
    path = _write(tmp_path / "outages.csv", "failure,1,2,0", row)
    with pytest.raises(InputError, match=reason) as raised:
        Outages.load(path)
    assert (str(raised.value.file), raised.value.line) == (str(path), 3)


def test_times_may_be_dates(tmp_path):
    path = _write(tmp_path / "outages.csv", "drain,1970-01-02T00:00,1970-01-02T01:00:05+01:00,0")
    (outage,) = Outages.load(path, unix_start_time=86_000).outages
    assert (outage.start, outage.end) == (400, 405)


@pytest.mark.parametrize("header", ["kind,start,end", "kind,start,end,node", ""])
def test_the_first_line_names_the_columns(tmp_path, header):
    path = _write(tmp_path / "outages.csv", "drain,1,2,0", header=header)
    with pytest.raises(InputError, match="must name the columns kind, start, end, nodes") as raised:
        Outages.load(path)
    assert raised.value.line == 1


def test_a_file_of_bytes_is_refused(tmp_path):
    (tmp_path / "outages.csv").write_bytes(b"kind\xff")
    with pytest.raises(InputError, match=r"must name the columns .*, not 'kind"):
        Outages.load(tmp_path / "outages.csv")


def test_failures_are_drawn_for_exponential_times():
    outages = Outages.draw(50, 100, mean_uptime=900, mean_repair=100, seed=3)
    drawn = list(takewhile(lambda outage: outage.start < 100_100, outages.in_order()))
    assert drawn == sorted(drawn, key=lambda outage: outage.start)
    by_node = [[x for x in drawn if x.nodes.tolist() == [node]] for node in range(50)]
    up, repair = [], []
    for failures in by_node:
        ends = [100, *(x.end for x in failures)]
        up += [x.start - end for x, end in zip(failures, ends, strict=False)]
        repair += [x.end - x.start for x in failures]
    assert min(up) > 0
    assert {x.kind for x in drawn} == {"failure"}
    # 5,000 failures are expected; the means have deviations of 1.4 %.
    assert len(drawn) == pytest.approx(5000, rel=0.05)
    assert np.mean(up) == pytest.approx(900, rel=0.07)
    assert np.mean(repair) == pytest.approx(100, rel=0.07)
    assert np.std(up) == pytest.approx(900, rel=0.1)


def test_the_same_seed_draws_the_same():
    drawn = [
        [
            (x.start, x.end)
            for x in islice(parse(["mean_uptime=9,mean_repair=1"], 3, 0, seed=seed).in_order(), 40)
        ]
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_files_and_failures_go_together(tmp_path):
    paths = [
        str(_write(tmp_path / f"{kind}.csv", f"{kind},5,6,0")) for kind in ("drain", "reservation")
    ]
    outages = parse([*paths, "mean_uptime=9,mean_repair=1"], 3, 0, seed=4, checkpoint=60)
    assert str(outages) == (
        "1 reservation, 1 drain, mean_uptime=9,mean_repair=1 (seed 4), checkpoint=60"
    )
    first = list(islice(outages.in_order(), 30))
    assert [x.start for x in first] == sorted(x.start for x in first)
    assert {x.kind for x in first} == {"drain", "reservation", "failure"}


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["mean_uptime=9"], "need mean_repair"),
        (["mean_uptime=9,mean_repair=x"], "mean_repair cannot be 'x'"),
        (["mean_uptime=9,mean_repair=1_0"], "mean_repair cannot be '1_0'"),
        (["mean_uptime=0,mean_repair=1"], "mean_uptime must be above 0 seconds, not 0"),
        (["mean_uptime=9,mean_repair=inf"], "mean_repair must be above 0 seconds, not inf"),
        (["mean_uptim=9,mean_repair=1"], "mean_uptim.*mean_uptime"),
        (2 * ["mean_uptime=9,mean_repair=1"], "failures are drawn twice"),
    ],
)
def test_what_cannot_be_drawn_is_refused(texts, reason):
    with pytest.raises(InputError, match=reason):
        parse(texts, 3, 0)


def test_impossible_outages_are_refused():
    with pytest.raises(InputError, match="checkpoint interval must be above 0 s, not 0"):
        Outages((), 0)
    with pytest.raises(InputError, match="ascending numbers from 0 on"):
        Outages((Outage("drain", 0, 1, np.array([-1])),))
