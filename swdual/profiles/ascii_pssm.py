"""ASCII PSSMs: tables of scores and percentages, as psiblast writes them with -out_ascii_pssm."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.profiles.frequencies import EPSILON, logarithms, standard_background
from swdual.profiles.letters import NCBI_X, PLACES, number_as_ncbi
from swdual.profiles.position_scores import UNSCORED, PositionScores
from swdual.sequences.alphabet import INVALID, PROTEIN
from swdual.text.messages import quote

logger = logging.getLogger("swdual")

OPENING = "Last position-specific scoring matrix computed"
"""How the first line that is not blank begins."""

COLUMNS = PROTEIN.letters[:20]
"""The letters of the columns."""

_PARTS = (
    ", weighted observed percentages rounded down, information per position, "
    "and relative weight of gapless real matches to pseudocounts"
)


def format_ascii(profile: PositionScores) -> Iterator[str]:
    """Yield the lines of an ASCII PSSM, without line ends.

    The two lines of statistics are the profile's own, as after psiblast's -in_pssm. Percentages and
    what follows them are left out where a profile has no weights.
    """
    complete = profile.frequencies is not None and profile.weights is not None
    scores = profile.scores[:, : len(COLUMNS)]
    scored = profile.scores[profile.scores != UNSCORED]
    width = len(str(int(np.abs(scored).max(initial=0)))) + 2
    yield ""
    yield OPENING + (_PARTS if complete else "")
    head = "".join(f"{letter:>{width}}" for letter in COLUMNS)
    yield f"{'':9}{head}" + ("".join(f"   {letter}" for letter in COLUMNS) if complete else "")
    ends = list(_format_weights(profile)) if complete else [""] * len(profile)
    letters = PROTEIN.decode(profile.codes)
    for number, letter, row, end in zip(
        range(1, len(profile) + 1), letters, scores.tolist(), ends, strict=True
    ):
        cells = "".join("-I " if score == UNSCORED else f"{score:>{width}}" for score in row)
        yield f"{number:>5} {letter}  {cells} {end}"
    yield ""
    yield f"{'':22}K         Lambda"
    yield f"PSI Ungapped         {profile.ungapped.K:.4f}     {profile.ungapped.lambda_:.4f}"
    yield f"PSI Gapped           {profile.gapped.K:.4f}     {profile.gapped.lambda_:.4f}"


def _format_weights(profile: PositionScores) -> Iterator[str]:
    """Yield percentages, information and relative weight of each position."""
    assert profile.weights is not None
    scored = profile.scores[:, : len(COLUMNS)] != UNSCORED
    percentages = np.floor(100.0 * profile.weights[:, : len(COLUMNS)] + 0.5).astype(np.int64)
    informative = profile.weights.any(axis=1) & (number_as_ncbi(profile.codes) != NCBI_X)
    gapless = np.zeros(len(profile)) if profile.gapless is None else profile.gapless
    for row, shown, bits, weight, is_informative in zip(
        percentages.tolist(),
        scored.tolist(),
        find_information(profile).tolist(),
        gapless.tolist(),
        informative.tolist(),
        strict=True,
    ):
        cells = "".join(f"{value:>4}" for value, has in zip(row, shown, strict=True) if has)
        yield f"{cells}  {bits:.2f} " + (f"{weight:.2f}" if is_informative else f"{0.0:>8.2f}")


def find_information(profile: PositionScores) -> NDArray[np.float64]:
    """Return (L,) the information of each position in bits, relative to the background.

    Raises
    ------
    InputError
        If the frequencies are unknown.
    """
    if profile.frequencies is None:
        raise InputError(f"profile {quote(profile.id)} has no frequencies, so no information")
    background = standard_background()[PLACES[: len(COLUMNS)]]
    frequencies = profile.frequencies[:, : len(COLUMNS)]
    ratios = frequencies / background
    used = ratios > EPSILON
    terms = np.zeros(ratios.shape)
    terms[used] = frequencies[used] * logarithms(ratios[used]) / math.log(2)
    order = np.argsort(PLACES[: len(COLUMNS)])
    information: NDArray[np.float64] = np.add.accumulate(terms[:, order], axis=1)[:, -1]
    return information


def read_ascii(text: str, path: str | os.PathLike[str]) -> PositionScores:
    """Return the profile in an ASCII PSSM.

    The file does not name its query, which is called after the file, nor its matrix, which the
    gapped lambda in its last line tells. Its percentages are rounded, so frequencies are unknown.

    Parameters
    ----------
    text, path
        Content of the file; its name, for the title and for messages.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    from swdual.profiles.build import score_positions

    columns = ""
    letters: list[str] = []
    rows: list[list[int]] = []
    lambda_: float | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or line.lstrip().startswith(OPENING):
            continue
        if not columns:
            columns = "".join(words)[: len(COLUMNS)]
            if {*columns} != {*COLUMNS}:
                raise _error("expected a line of the 20 amino acids", path, number)
        elif words[0].isdigit():
            if int(words[0]) != len(rows) + 1:
                raise _error(f"expected position {len(rows) + 1}", path, number)
            letters.append(words[1] if len(words) > 1 else "")
            rows.append(_read_scores(words, path, number))
        elif words[-3:-2] == ["Gapped"]:
            try:
                lambda_ = float(words[-1])
            except ValueError as error:
                raise _error("lambda is not a number", path, number) from error
    if not rows:
        raise _error("there are no positions", path, None)
    if lambda_ is None:
        logger.warning(
            "%s: there is no line 'PSI Gapped' behind position %d; if the file was cut, write it "
            "again; the matrix is taken for BLOSUM62",
            os.fspath(path),
            len(rows),
        )
    codes = PROTEIN.encode("".join(letters))
    if len(codes) != len(rows) or bytes([INVALID]) in codes:
        raise _error("a position has no residue of a protein", path, None)
    order = [columns.index(letter) for letter in COLUMNS]
    scores = np.array(rows, np.int32)[:, order]
    return score_positions(os.path.basename(path), codes, scores, lambda_, path)


def _read_scores(words: list[str], path: Any, line: int) -> list[int]:
    """Return the scores in a line that begins with a position and a letter."""
    cells = words[2 : 2 + len(COLUMNS)]
    try:
        scores = [UNSCORED if cell == "-I" else int(cell) for cell in cells]
    except ValueError as error:
        raise _error("scores must be whole numbers", path, line) from error
    if len(scores) != len(COLUMNS):
        raise _error(f"the position has {len(scores)} scores; expected {len(COLUMNS)}", path, line)
    if max(map(abs, scores)) > -UNSCORED:
        raise _error(f"a score is beyond +-{-UNSCORED}", path, line)
    return scores


def _error(message: str, path: str | os.PathLike[str], line: int | None) -> InputError:
    return InputError(
        f"not an ASCII PSSM of PSI-BLAST: {message}; write it again with psiblast -out_ascii_pssm",
        file=path,
        line=line,
    )
