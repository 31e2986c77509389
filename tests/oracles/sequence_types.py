"""The type of sequences by their letters, as docs/searches.md tells it, letter by letter."""

from __future__ import annotations


def rule(letters: str) -> str:
    """Return "prot" or "nucl", and " (doubtful)" where the letters fit both."""
    seen = [letter.upper() for letter in letters if letter.isalpha() and letter not in "Xx"]
    common = sum(letter in "ACGTUN" for letter in seen)
    others = sum(letter not in "ACGTUNRYSWKMBDHV" for letter in seen)
    if not seen:
        return "prot (doubtful)"
    if len(seen) >= 50 and 10 * common >= 9 * len(seen):
        return "nucl"
    if others or 2 * common < len(seen):
        return "prot"
    bases = {"T" if letter == "U" else letter for letter in seen} & {"A", "C", "G", "T"}
    if 10 * common < 9 * len(seen):
        return ("nucl" if len(bases) == 4 else "prot") + " (doubtful)"
    return "nucl" if len(bases) == 4 and len(seen) >= 15 else "nucl (doubtful)"
