"""What a reader refuses costs about as much as what it reads."""

from __future__ import annotations

import time

import pytest
from support.readers import READERS

from swdual.errors import InputError

SIZE = 100_000
"""Characters of a text: work that grows with its square takes many seconds."""

RATIO = 10
LEAST_SECONDS = 0.05
"""Shorter times say little."""


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_refusal_costs_no_more_than_reading(tmp_path, reader):
    """The last unit of the text is wrong; the time is that of the processor."""

    def seconds(path):
        begin = time.process_time()
        try:
            reader.read(path)
        except InputError:
            assert path == bad
        else:
            assert path == good
        return time.process_time() - begin

    unit = (len(reader.text(41)) - len(reader.text(1))) / 40
    text = reader.text(int(SIZE / unit))
    good, bad = tmp_path / f"good{reader.ending}", tmp_path / f"bad{reader.ending}"
    good.write_text(text)
    bad.write_text(reader.damage(text))
    seconds(good)  # loads and compiles what is needed
    assert seconds(bad) < RATIO * max(seconds(good), LEAST_SECONDS)
