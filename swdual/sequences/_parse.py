"""The kernel that reads well-formed FASTA; everything else is left to `fasta`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native
from swdual.sequences.alphabet import ALIGNMENT, CODES, PAD

_TAB, _NEWLINE, _RETURN, _SPACE, _GREATER = 9, 10, 13, 32, 62


@native
def _blank(letter: int) -> bool:
    return letter == _SPACE or _TAB <= letter <= _RETURN


@native
def parse_clean(
    text: NDArray[np.uint8],
    encoding: NDArray[np.uint8],
    codes: NDArray[np.uint8],
    headers: NDArray[np.uint8],
    header_ends: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """Read well-formed FASTA.

    Parameters
    ----------
    text
        Whole records with ``\\n`` line ends.
    encoding
        (256,) the code of each byte; at least `CODES` for what is no letter.
    codes
        Receives the codes; each record begins on a multiple of `ALIGNMENT`, with `PAD` before it.
    headers, header_ends
        Receive the header lines end to end, without ">", and (records,) where each ends.
    lengths
        (records,) receives the residues of each.

    Returns
    -------
    Numbers of code bytes, header bytes, records and lines. The first is -1 if a record has no name
    or no residues, or a byte is no letter.
    """
    # A record, and where the indices point while its third line is copied:
    #
    #     >name and title \n MKVLAWGG \n PFALSSGL \n MK \n >next
    #                                    i        stop = i + width
    #
    # Invariant: codes[:filled] and headers[:header_bytes] are complete, codes[before:filled] is
    # what the record has so far, and text[i] begins a line.
    end, filled, header_bytes, records, lines, i = len(text), 0, 0, 0, 0, 0
    width = 0
    while i < end:
        if text[i] != _GREATER:
            return -1, 0, 0, 0
        i += 1
        while i < end and _blank(text[i]) and text[i] != _NEWLINE:
            i += 1
        stop = i
        while stop < end and text[stop] != _NEWLINE:
            stop += 1
        title = text[i:stop]
        while len(title) > 0 and _blank(title[-1]):
            title = title[:-1]
        if len(title) == 0:
            return -1, 0, 0, 0
        for k in range(len(title)):
            headers[header_bytes + k] = title[k]
        header_bytes += len(title)
        i = stop
        header_ends[records] = header_bytes
        i += 1
        lines += 1
        before = filled
        while i < end and text[i] != _GREATER:
            # Most lines are as long as the one before, so guess the end. The guess is wrong if a
            # line end lies before it; then the copied bytes include a newline, which is no letter.
            stop = i + width
            guessed = width > 0 and stop < end and text[stop] == _NEWLINE
            if not guessed:
                stop = i
                while stop < end and text[stop] != _NEWLINE:
                    stop += 1
                width = stop - i
            line, out = text[i:stop], codes[filled:]
            # Codes of letters are below 32, so the bitwise or of all of them is below 32, too. One
            # test a line, instead of one a letter, lets LLVM vectorise the loop.
            seen = np.uint8(0)
            for k in range(len(line)):
                code = encoding[line[k]]
                out[k] = code
                seen |= code
            if seen >= CODES:
                if guessed:  # the guess may be wrong: look for the line end
                    width = 0
                    continue
                return -1, 0, 0, 0
            filled += stop - i
            i = stop + 1
            lines += 1
        if filled == before:
            return -1, 0, 0, 0
        lengths[records] = filled - before
        records += 1
        while filled % ALIGNMENT != 0:
            codes[filled] = PAD
            filled += 1
    return filled, header_bytes, records, lines
