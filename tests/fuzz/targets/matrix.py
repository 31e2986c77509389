"""Substitution matrices in NCBI's text format, for both alphabets.

What is read is compared with the words of the file.
"""

from __future__ import annotations

import re

from fuzz.target import explained, pick, stored

from swdual.sequences.alphabet import ALPHABETS
from swdual.sequences.matrices import MAX_MATRIX_SCORE, load
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.karlin_altschul import require_negative_mean


def target(data):
    """Read a matrix file and look up its scores."""
    if not data:
        return
    alphabet = pick([*ALPHABETS.values()], data[0])
    path = stored(data[1:], "input.matrix")
    with explained():
        matrix = load(path, alphabet)
        assert abs(matrix.scores.astype(int)).max() <= MAX_MATRIX_SCORE
        text = re.sub(r"(?m)^[\0\ufeff]+", "", data[1:].decode(errors="replace"))
        lines = text.splitlines()
        columns, *rows = filter(None, (line.partition("#")[0].split() for line in lines))
        assert len(columns) == len(rows)
        for row, *scores in rows:
            for column, score in zip(columns, scores, strict=True):
                places = [alphabet.letters.index(letter.upper()) for letter in (row, column)]
                assert matrix.scores[tuple(places)] == float(score)
        require_negative_mean(ScoringScheme(matrix).matrix)


def seeds():
    """Return small matrices, sound and damaged."""
    small = b"# of proteins\n   A  R  X\nA  4 -1 -1\nR -1  5 -1\nX -1 -1 -1\n"
    bases = b" A C G T N\nA 2 -3 -3 -3 -1\nC -3 2 -3 -3 -1\nG -3 -3 2 -3 -1\n"
    bases += b"T -3 -3 -3 2 -1\nN -1 -1 -1 -1 -1\n"
    texts = [
        small,
        small.lower(),
        small.replace(b"\n", b"\r\n"),
        small.replace(b"-1", b"-1.0"),
        small.replace(b" 4", b" 4.5"),
        small.replace(b" 4", b" 99999"),
        small.replace(b" 4", b" 1_0"),
        small.replace(b"-1\n", b"\n"),
        small.replace(b"A  R", b"A  A"),
        small.replace(b"A  R", "A  \ufb06".encode()),
        small.replace(b"R -1", b"AR -1"),
        small.replace(b"X -1", b"\x1b[31m -1"),
        small.replace(b"-1", b"1"),
        small[:30],
        b"",
        b"#\n",
        b"\xff\xfe\x00",
        b"A\nA " + b"9" * 5000 + b"\n",
    ]
    return [b"\x00" + text for text in texts] + [b"\x01" + bases]
