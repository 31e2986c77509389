"""PSI-BLAST's checkpoint files: PssmWithParameters as ASN.1 text.

The module of NCBI's specification is scoremat.asn. Scores and frequencies are in columns of 28
letters, one for each position (`NCBI_LETTERS`), or in rows.
"""

from __future__ import annotations

import math
import os
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.profiles.letters import NCBI_LETTERS, number_as_ncbi, order_as_ncbi, order_by_code
from swdual.profiles.position_scores import UNSCORED, PositionScores, lowest_score
from swdual.sequences.alphabet import INVALID, PROTEIN
from swdual.sequences.matrices import MAX_MATRIX_SCORE, names
from swdual.statistics.karlin_altschul import KarlinAltschul
from swdual.text.messages import quote

MIN_NCBI_LETTERS = 26
"""Older files end before O."""

OPENING = "PssmWithParameters"
"""The first word of a file."""

MAX_DEPTH = 50

DIGITS = 15
"""Significant digits of real numbers in files, as psiblast writes them."""

_HEX_WIDTH = 76


_REMEDY = "write it again with psiblast -out_pssm"

_KINDS = {int: "a whole number", np.ndarray: "a list of numbers", bytes: "hexadecimal digits"}
"""What messages call the values that are expected; others are words."""

_TOKEN = re.compile(
    r"""
    \s+
  | (?P<reals>\{\s*\{\s*-?\d+\s*,\s*\d+\s*,\s*-?\d+\s*\}
       (?:\s*,\s*\{\s*-?\d+\s*,\s*\d+\s*,\s*-?\d+\s*\})*\s*\})
  | (?P<integers>\{\s*-?\d+(?:\s*,\s*-?\d+)*\s*\})
  | (?P<name>[A-Za-z][A-Za-z0-9-]*)
  | (?P<number>-?\d+)
  | (?P<string>"(?:[^"]|"")*")
  | (?P<hex>'[0-9A-Fa-f\s]*'H)
  | (?P<sign>::=|[{},])
    """,
    re.VERBOSE | re.ASCII,
)
_REAL = re.compile(r"\{\s*(-?\d+)\s*,\s*10\s*,\s*(-?\d+)\s*\}", re.ASCII)


class _Text:
    """A parser of ASN.1 values as text.

    A value becomes an array of numbers, a number, a text, bytes, or a dictionary of what has a name
    in it. A choice, such as ``query seq {...}``, is a dictionary of one.
    """

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self._at = 0
        self._next()

    def error(self, message: str, at: int | None = None) -> InputError:
        line = self.text.count("\n", 0, self._start if at is None else at) + 1
        return _error(message, self.path, line)

    def _found(self) -> str:
        """Return the token for messages."""
        return self._value if self._kind == "end" else quote(self._value)

    def _next(self) -> None:
        """Go to the next token."""
        while True:
            self._start = self._at
            if self._at == len(self.text):
                self._kind, self._value = "end", "the end of the file"
                return
            match = _TOKEN.match(self.text, self._at)
            if match is None:
                raise self.error(f"unexpected {quote(self.text[self._at : self._at + 20])}")
            self._at = match.end()
            if match.lastgroup is not None:
                self._kind, self._value = match.lastgroup, match[0]
                return

    def take(self, expected: str) -> None:
        """Go past a token."""
        if self._value != expected:
            raise self.error(f"expected {expected!r}, found {self._found()}")
        self._next()

    def value(self, depth: int = 0) -> Any:
        """Return the value that begins here, and go past it."""
        kind, text, start = self._kind, self._value, self._start
        if depth > MAX_DEPTH:
            raise self.error("values are nested too deeply")
        if text == "{":
            return self._members(depth)
        if kind in ("sign", "end"):
            raise self.error(f"expected a value, found {self._found()}")
        self._next()
        if kind == "name":
            ends = text in ("TRUE", "FALSE") or self._value in (",", "}") or self._kind == "end"
            return text if ends else {text: self.value(depth + 1)}
        if kind == "string":
            return re.sub(r"[\r\n]", "", text[1:-1]).replace('""', '"')
        if kind == "hex":
            digits = "".join(text[1:-2].split())
            if len(digits) % 2:
                raise self.error("an odd number of hexadecimal digits", start)
            return bytes.fromhex(digits)
        if kind == "number":
            return int(text)
        return self._numbers(text, start, reals=kind == "reals")

    def _numbers(self, text: str, start: int, *, reals: bool) -> NDArray[Any]:
        if not reals:
            numbers = np.array([int(number) for number in text[1:-1].split(",")], object)
            if max(map(abs, numbers)) >= 2**63:
                raise self.error("a number is too large", start)
            return numbers.astype(np.int64)
        decimals = _REAL.sub(r"\1e\2", text[1:-1])
        if "{" in decimals:
            raise self.error("expected numbers in base 10", start)
        numbers = np.array(decimals.split(","), np.float64)
        if not np.isfinite(numbers).all():
            raise self.error("a number is too large", start)
        return numbers

    def _members(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.take("{")
        while self._value != "}":
            member = self.value(depth + 1)
            if isinstance(member, dict):
                found = member | found
            if self._value != "}":
                self.take(",")
        self.take("}")
        return found


def read_asn1(text: str, path: str | os.PathLike[str]) -> PositionScores:
    """Return the profile in a checkpoint file of PSI-BLAST.

    Parameters
    ----------
    text, path
        Content of the file; its name, for messages.

    Raises
    ------
    InputError
        If the file is damaged, or its profile is not one of proteins.
    """
    parser = _Text(text, os.fspath(path))
    parser.take(OPENING)
    parser.take("::=")
    return _Content(parser.value(), parser).profile()


def _error(message: str, path: str, line: int | None) -> InputError:
    return InputError(f"not a PSSM of PSI-BLAST: {message}; {_REMEDY}", file=path, line=line)


class _Content:
    """The values of a file."""

    def __init__(self, values: Any, parser: _Text) -> None:
        self.path = parser.path
        self._text = parser.text
        self.root = values
        self.length = self.find(int, "pssm", "numColumns")
        self.rows = self.find(int, "pssm", "numRows")
        self.by_row = self.find(str, "pssm", "byRow", default="FALSE") == "TRUE"

    def error(self, message: str, name: str = "") -> InputError:
        """Return an error; the line is where a name is first."""
        found = re.search(rf"\b{name}\b", self._text) if name else None
        line = self._text.count("\n", 0, found.start()) + 1 if found else None
        return _error(message, self.path, line)

    def find(self, kind: type, *names: str, default: Any = ...) -> Any:
        """Return the value at the end of these names."""
        value = self.root
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
            if value is None:
                if default is ...:
                    raise self.error(f"there is no {' '.join(names)}")
                return default
        if not isinstance(value, kind):
            raise self.error(f"{' '.join(names)} is not {_KINDS.get(kind, 'a word')}", names[-1])
        return value

    def profile(self) -> PositionScores:
        if self.find(str, "pssm", "isProtein", default="TRUE") != "TRUE":
            raise InputError(
                "a PSSM of nucleotides; only those of proteins can be used", file=self.path
            )
        if not MIN_NCBI_LETTERS <= self.rows <= len(NCBI_LETTERS):
            raise InputError(
                f"a PSSM of {self.rows} letters; expected NCBI's {len(NCBI_LETTERS)} of proteins",
                file=self.path,
            )
        codes, title = self.codes(), self.title()
        frequencies = self.frequencies("freqRatios")
        observations = self.column("numIndeptObsr")
        matrix = self.find(str, "params", "rpsdbparams", "matrixName", default="BLOSUM62")
        if matrix.upper() not in names():
            raise self.error(
                f"matrixName is {quote(matrix)}, which is none of {', '.join(names())}",
                "matrixName",
            )
        gaps = (
            self.find(int, "params", "rpsdbparams", "gapOpen", default=11),
            self.find(int, "params", "rpsdbparams", "gapExtend", default=1),
        )
        scores = self.table(UNSCORED, "finalData", "scores")
        factor = self.find(int, "pssm", "finalData", "scalingFactor", default=1)
        if scores is None or factor != 1:
            if frequencies is None:
                raise self.error(
                    f"there are no {'scores' if scores is None else 'unscaled scores'}, and no "
                    "frequencies to compute them from"
                )
            from swdual.profiles.build import choose_scheme, score_frequencies

            scheme = choose_scheme(matrix, *gaps)
            return score_frequencies(title, codes, frequencies, scheme, observations)
        if scores.dtype != np.int64 or scores.min() < UNSCORED or scores.max() > MAX_MATRIX_SCORE:
            raise self.error(f"scores must be whole numbers within +-{MAX_MATRIX_SCORE}", "scores")
        return PositionScores(
            title,
            codes,
            order_by_code(scores.astype(np.int32), lowest_score(scores)),
            frequencies,
            observations,
            self.karlin_altschul("lambda", "kappa", "h"),
            self.karlin_altschul("lambdaUngapped", "kappaUngapped", "hUngapped"),
            matrix,
            *gaps,
            self.frequencies("weightedResFreqsPerPos"),
            self.column("gaplessColumnWeights"),
        )

    def codes(self) -> bytes:
        query = ("pssm", "query", "seq", "inst", "seq-data")
        coded = self.find(bytes, *query, "ncbistdaa", default=None)
        if coded is not None:
            letters = coded.translate(NCBI_LETTERS.encode().ljust(256, b"?")).decode()
        else:
            letters = self.find(str, *query, "ncbieaa", default="") or self.find(
                str, *query, "iupacaa"
            )
        codes = PROTEIN.encode(letters)
        if bytes([INVALID]) in codes:
            raise self.error(f"the query has the letter {quote(letters[codes.index(INVALID)])}")
        if len(codes) != self.length:
            raise self.error(
                f"the query has {len(codes)} residues, but there are {self.length} columns"
            )
        return codes

    def title(self) -> str:
        title: str = self.find(str, "pssm", "query", "seq", "descr", "title", default="")
        if title:
            return title
        identifier: Any = self.find(object, "pssm", "query", "seq", "id", default="")
        while isinstance(identifier, dict):
            identifier = next(iter(identifier.values()), "")
        return str(identifier)

    def table(self, missing: float, *names: str) -> NDArray[Any] | None:
        """Return (L, 28) values by NCBI's codes."""
        values = self.find(np.ndarray, "pssm", *names, default=None)
        if values is None:
            return None
        if values.shape != (self.rows * self.length,):
            raise self.error(
                f"{names[-1]} has {len(values)} numbers; expected {self.rows} x {self.length}",
                names[-1],
            )
        shape = (self.rows, self.length) if self.by_row else (self.length, self.rows)
        table = values.reshape(shape)
        ends = (0, 0), (0, len(NCBI_LETTERS) - self.rows)
        return np.pad(table.T if self.by_row else table, ends, constant_values=missing)

    def frequencies(self, name: str) -> NDArray[np.float64] | None:
        table = self.table(0.0, "intermediateData", name)
        if table is None:
            return None
        if (table < 0).any():
            raise self.error(f"{name} has a negative number", name)
        return order_by_code(table.astype(np.float64), 0.0)

    def column(self, name: str) -> NDArray[np.float64] | None:
        values = self.find(np.ndarray, "pssm", "intermediateData", name, default=None)
        if values is not None and values.shape != (self.length,):
            raise self.error(f"{name} has {len(values)} numbers; expected {self.length}", name)
        found: NDArray[np.float64] | None = values
        return found

    def karlin_altschul(self, *names: str) -> KarlinAltschul:
        return KarlinAltschul(*(self.real("pssm", "finalData", name) for name in names))

    def real(self, *names: str) -> float:
        """Return a real number, which is a list of mantissa, base and exponent."""
        parts = self.find(np.ndarray, *names)
        if parts.shape != (3,) or parts[1] != 10:
            raise self.error(f"{names[-1]} is not a number in base 10", names[-1])
        value = float(f"{parts[0]}e{parts[2]}")
        if not 0.0 < value < math.inf:
            raise self.error(f"{names[-1]} is not positive", names[-1])
        return value


def format_asn1(profile: PositionScores) -> Iterator[str]:
    """Yield the lines of a checkpoint file of PSI-BLAST, without line ends."""
    length = len(profile)
    title = re.sub(r"[^ -~]", "#", profile.title).replace('"', '""')
    residues = number_as_ncbi(profile.codes).tobytes().hex().upper()
    yield f"{OPENING} ::= {{"
    yield "  pssm {"
    yield "    isProtein TRUE,"
    yield f"    numRows {len(NCBI_LETTERS)},"
    yield f"    numColumns {length},"
    yield "    byRow FALSE,"
    yield "    query seq {"
    yield "      id {"
    yield '        local str "Query_1"'
    yield "      },"
    yield "      descr {"
    yield f'        title "{title}"'
    yield "      },"
    yield "      inst {"
    yield "        repr raw,"
    yield "        mol aa,"
    yield f"        length {length},"
    yield "        seq-data ncbistdaa '"
    yield from textwrap.wrap(residues, _HEX_WIDTH)
    yield "'H"
    yield "      }"
    yield "    },"
    known = [
        (name, values)
        for name, values in (
            ("weightedResFreqsPerPos", profile.weights),
            ("freqRatios", profile.frequencies),
            ("gaplessColumnWeights", profile.gapless),
            ("numIndeptObsr", profile.observations),
        )
        if values is not None
    ]
    if known:
        yield "    intermediateData {"
        for k, (name, values) in enumerate(known):
            yield f"      {name} {{"
            values = values if values.ndim == 1 else order_as_ncbi(values, 0.0)
            yield from _items(map(_real, values.ravel().tolist()))
            yield "      }" if k == len(known) - 1 else "      },"
        yield "    },"
    yield "    finalData {"
    yield "      scores {"
    yield from _items(map(str, order_as_ncbi(profile.scores, UNSCORED).ravel().tolist()))
    yield "      },"
    gapped, ungapped = profile.gapped, profile.ungapped
    yield f"      lambda {_real(gapped.lambda_)},"
    yield f"      kappa {_real(gapped.K)},"
    yield f"      h {_real(gapped.H)},"
    yield f"      lambdaUngapped {_real(ungapped.lambda_)},"
    yield f"      kappaUngapped {_real(ungapped.K)},"
    yield f"      hUngapped {_real(ungapped.H)}"
    yield "    }"
    yield "  },"
    yield "  params {"
    yield "    pseudocount 0,"
    yield "    rpsdbparams {"
    yield f'      matrixName "{profile.matrix}",'
    yield f"      gapOpen {profile.gap_open},"
    yield f"      gapExtend {profile.gap_extend}"
    yield "    }"
    yield "  }"
    yield "}"


def _items(values: Iterable[str]) -> Iterator[str]:
    """Yield values one a line, with commas between them."""
    previous = None
    for value in values:
        if previous is not None:
            yield f"        {previous},"
        previous = value
    yield f"        {previous}"


def _real(value: float) -> str:
    """Return a number as mantissa, base and exponent.

    >>> _real(0.267), _real(0.0), _real(-20.0)
    ('{ 267, 10, -3 }', '{ 0, 10, 0 }', '{ -2, 10, 1 }')
    """
    digits, _, exponent = f"{value:.{DIGITS - 1}e}".partition("e")
    whole, _, fraction = digits.partition(".")
    fraction = fraction.rstrip("0")
    mantissa = int(whole + fraction)
    return f"{{ {mantissa}, 10, {int(exponent) - len(fraction) if mantissa else 0} }}"
