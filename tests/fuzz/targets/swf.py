"""Traces in the Standard Workload Format, plain and gzip, under every rule for damaged jobs."""

from __future__ import annotations

import gzip
import itertools
import zlib
from dataclasses import replace

import numpy as np
from fuzz.target import explained, folder, pick, stored

from swdual.scheduling.platform import MAX_PLATFORM_PROCESSORS, Platform
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload import repair
from swdual.scheduling.workload.cleaning import clean
from swdual.scheduling.workload.swf import read_trace, write_swf
from swdual.scheduling.workload.trace import FIELDS

SETS = ("standard", "thesis")
CHOICES = [f"{name}={choice}" for name, rule in repair.RULES.items() for choice in rule.choices]
RULES = [
    repair.rules(name, [] if choice is None else [choice])
    for name, choice in itertools.product(SETS, [None, *CHOICES])
]
MAX_SIMULATED = 40
SIZES = (None, 1, 7, MAX_PLATFORM_PROCESSORS)


def target(data):
    """Read a trace, clean it, and write it to be read again."""
    if len(data) < 2:
        return
    path = stored(data[2:], "input.swf")
    with explained():
        trace = read_trace(path)
        assert trace.values.shape == (len(trace), len(FIELDS))
        assert np.isfinite(trace.values).all()
        assert (np.diff(trace.lines) > 0).all()
        machine = trace.machine_processors
        if machine is not None and machine <= MAX_PLATFORM_PROCESSORS:
            Platform(machine)
        again = folder() / "again.swf"
        write_swf(trace, again, force=True)
        assert np.array_equal(read_trace(again).values, trace.values)
        with explained():
            workload = clean(trace, pick(RULES, data[0]), pick(SIZES, data[1]))
            str(workload.report)
            _check(workload)
            if len(workload) <= MAX_SIMULATED:
                _follow(workload)
            if (workload.submit_time >= 0).all():
                write_swf(workload, again, force=True)
                assert len(read_trace(again)) == len(workload)


def _check(workload):
    """Check what the class promises of its jobs."""
    assert (np.diff(workload.submit_time) >= 0).all()
    assert (workload.run_time >= 0).all()
    assert (workload.requested_time > 0).all()
    assert (workload.processors >= 1).all()


def _follow(workload):
    """Simulate a small workload whose jobs follow others, and check when they are submitted."""
    workload = replace(workload, processors=np.minimum(workload.processors, 8), follow=True)
    schedule = simulate(workload, 8, "fcfs")
    assert schedule.violations() == []
    made, ends = schedule.workload, schedule.finish_time
    assert sorted(made.number) == sorted(workload.number)
    if len(set(made.number.tolist())) < len(made):
        return
    place = {number: row for row, number in enumerate(workload.number.tolist())}
    end_of = dict(zip(made.number.tolist(), ends.tolist(), strict=True))
    for number, submitted in zip(made.number.tolist(), made.submit_time.tolist(), strict=True):
        row = place[number]
        preceding = int(workload.extra["preceding_job"][row])
        expected = float(workload.submit_time[row])
        if preceding > 0 and place.get(preceding, row) < row:
            think = max(0.0, float(workload.extra["think_time"][row]))
            expected = max(expected, end_of[preceding] + think)
        assert submitted == expected


def seeds():
    """Return sound traces, and some with all that may be wrong with a line."""
    job = b"1 0 5 100 4 90 -1 4 120 -1 1 3 1 1 1 -1 -1 -1"
    other = b"2 60 0 50.5 2 -1 -1 2 -1 -1 0 4 1 2 1 -1 1 30"
    followers = [
        b"%d %d 0 20 4 -1 -1 4 15 -1 1 3 1 1 1 -1 %d %d" % job
        for job in [
            (2, 0, 1, 50),
            (3, 0, 2, 0),
            (4, 9, 5, 3),
            (5, 9, 4, -1),
            (6, 9, 6, 1),
            (7, 9, 1, 0),
        ]
    ]
    head = b"; Version: 2.2\n; MaxProcs: 64\n; Note: none\n"
    texts = [
        head + job + b"\n" + other + b"\n",
        job + b"\n" + other,
        job.replace(b" ", b"\t") + b"\r\n" + other + b"\r\n",
        b"\xef\xbb\xbf" + head + job + b"\n",
        b"",
        head,
        job[:-5] + b"\n",
        job.replace(b"100", b"1e3") + b"\n",
        job.replace(b"100", b"-100") + b"\n",
        job.replace(b"100", b"1e999") + b"\n",
        job.replace(b"100", b"abc\x1b") + b"\n",
        job.replace(b"100", b"0.1.2") + b"\n",
        job + b"\n" + job.replace(b"1 0", b"1 -1") + b"\n\n;end\n",
        b"; MaxProcs: 99999999999999999999\n; MaxNodes: 5\n" + job + b"\n",
        (job + b"\n") * 30,
        head + job + b"\n" + b"\n".join(followers) + b"\n",
        b"\n".join(followers[::-1]),
        b"JobID|Submit|Start|End|NCPUS|State\n101_1|2024-03-04T08:00:00|None|None|2|COMPLETED\n",
        b"       JobID    JobName\n------------ ----------\n12345.batch      batch\n",
        b'{"nb_res": 4, "jobs": [{"id": 0, "subtime": 0, "walltime": 9, "res": 4}]}\n',
        b'[\n  {"id": "w0!1", "profile": "delay"}\n]',
    ]
    packed = [gzip.compress(texts[0]), gzip.compress(texts[0])[:-6], zlib.compress(texts[0])]
    return [bytes([number, number % 4]) + text for number, text in enumerate([*texts, *packed])]
