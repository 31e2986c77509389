"""Profiles from the match emissions of HMMER3's models.

Insertions and deletions of a model depend on the position. A profile has constant gap penalties, so
only the match emissions are used.
"""

from __future__ import annotations

import math
import os

import numpy as np

from swdual.errors import InputError
from swdual.profiles.position_scores import PositionScores
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.text.messages import quote

OPENING = "HMMER3"
"""How the first line begins."""

LETTERS = "ACDEFGHIKLMNPQRSTVWY"


def read_hmmer(text: str, path: str | os.PathLike[str]) -> PositionScores:
    """Return the profile of a model; its query is the consensus.

    Parameters
    ----------
    text, path
        Content of the file; its name, for messages.

    Raises
    ------
    InputError
        If the file is damaged, has several models, or one of nucleotides.
    """
    from swdual.profiles.build import choose_scheme, score_frequencies

    facts: dict[str, str] = {}
    emissions: list[list[float]] = []
    lines = text.splitlines()
    head = next((k for k, line in enumerate(lines) if line.split()[:1] == ["HMM"]), 0)
    for line in lines[:head]:
        key, _, value = line.partition(" ")
        facts.setdefault(key, value.strip())
    if facts.get("ALPH", "amino") != "amino":
        raise InputError(
            f"a model of {facts['ALPH']}; only models of proteins can be used", file=path
        )
    if not facts.get("LENG", "").isdigit() or "".join(lines[head].split()[1:]) != LETTERS:
        raise _error("there is no length, or no line of the 20 amino acids", path, None)
    # Behind the head: optionally the average composition, insertions and transitions of the
    # beginning, then three lines for each position.
    start = head + 2
    start += 3 if lines[start : start + 1] and lines[start].split()[:1] == ["COMPO"] else 2
    for position in range(int(facts["LENG"])):
        at = start + 3 * position
        words = lines[at].split() if at < len(lines) else []
        if len(words) <= len(LETTERS) or words[0] != str(position + 1):
            raise _error(f"expected the emissions of position {position + 1}", path, at + 1)
        emissions.append([_probability(word, path, at + 1) for word in words[1 : len(LETTERS) + 1]])
    rest = start + 3 * len(emissions)
    if [line for line in lines[rest : rest + 1] if line.strip() != "//"]:
        raise _error("the model goes on beyond its length", path, rest + 1)
    if any(line.startswith(OPENING) for line in lines[rest:]):
        raise InputError(
            "the file has several models; take one out with hmmfetch", file=path, line=rest + 2
        )
    if not emissions:
        raise _error("there are no positions", path, None)
    codes = np.frombuffer(PROTEIN.encode(LETTERS), np.uint8)
    frequencies = np.zeros((len(emissions), CODES))
    frequencies[:, codes] = emissions
    query = codes[np.argmax(emissions, axis=1)].tobytes()
    title = " ".join(facts[key] for key in ("NAME", "DESC") if key in facts)
    return score_frequencies(title, query, frequencies, choose_scheme("BLOSUM62", None, None))


def _probability(word: str, path: str | os.PathLike[str], line: int) -> float:
    """Return the probability that a file has as a negative logarithm, or ``*`` for 0."""
    if word == "*":
        return 0.0
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not value >= 0.0:
        raise _error(f"{quote(word)} is not the negative logarithm of a probability", path, line)
    return math.exp(-value)


def _error(message: str, path: str | os.PathLike[str], line: int | None) -> InputError:
    return InputError(
        f"not a model of HMMER3: {message}; write it again with hmmbuild", file=path, line=line
    )
