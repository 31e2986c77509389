"""Small random changes of inputs: bytes flipped, cut out, put in, doubled, taken from others."""

from __future__ import annotations

AWKWARD = (
    *(b"\x00", b"\xff", b"\n", b"\r", b"\t", b" ", b">", b"@", b"#", b";", b",", b'"', b"\x1b[31m"),
    *(
        b"-1",
        b"0",
        b"nan",
        b"inf",
        b"1e999",
        b"99999999999999999999",
        b"\xe2\x80\xa8",
        b"\xed\xa0\x80",
    ),
    *(bytes(8), b"\xff" * 8, b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"A" * 300),
)
"""What readers stumble over."""


def mutated(data, others, rng):
    """Return an input with one to four changes.

    Parameters
    ----------
    data
        The input.
    others
        Inputs that parts may be taken from.
    rng
        A `random.Random`.
    """
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = rng.choice(CHANGES)(data, others, rng)
    return data


def _flip(data, others, rng):
    if not data:
        return data
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def _replace(data, others, rng):
    if not data:
        return data
    place = rng.randrange(len(data))
    return data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]


def _cut_end(data, others, rng):
    return data[: rng.randrange(len(data) + 1)]


def _cut_out(data, others, rng):
    start, end = _stretch(data, rng)
    return data[:start] + data[end:]


def _double(data, others, rng):
    start, end = _stretch(data, rng)
    return data[:end] + data[start:]


def _insert(data, others, rng):
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(AWKWARD) + data[place:]


def _splice(data, others, rng):
    other = rng.choice(others)
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _stretch(data, rng):
    """Return the ends of a short part of an input."""
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 2, 8, 50)))


CHANGES = (_flip, _replace, _cut_end, _cut_out, _double, _insert, _splice)
