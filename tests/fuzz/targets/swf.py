"""Traces in the Standard Workload Format, plain and gzip, under every rule for damaged jobs."""

from __future__ import annotations

import gzip
import itertools
import zlib

import numpy as np
from fuzz.target import explained, folder, pick, stored

from swdual.scheduling.platform import MAX_PLATFORM_PROCESSORS, Platform
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
            if (workload.submit_time >= 0).all():
                write_swf(workload, again, force=True)
                assert len(read_trace(again)) == len(workload)


def _check(workload):
    """Check what the class promises of its jobs."""
    assert (np.diff(workload.submit_time) >= 0).all()
    assert (workload.run_time >= 0).all()
    assert (workload.requested_time > 0).all()
    assert (workload.processors >= 1).all()


def seeds():
    """Return sound traces, and some with all that may be wrong with a line."""
    job = b"1 0 5 100 4 90 -1 4 120 -1 1 3 1 1 1 -1 -1 -1"
    other = b"2 60 0 50.5 2 -1 -1 2 -1 -1 0 4 1 2 1 -1 1 30"
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
    ]
    packed = [gzip.compress(texts[0]), gzip.compress(texts[0])[:-6], zlib.compress(texts[0])]
    return [bytes([number, number % 4]) + text for number, text in enumerate([*texts, *packed])]
