"""Validation of records: invalid letters and empty records, and the messages about them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Literal

from swdual.errors import InputError
from swdual.runtime.stopping import check_stop
from swdual.sequences.alphabet import INVALID, PROTEIN, Alphabet
from swdual.sequences.detection import are_proteins
from swdual.sequences.sequence import Batch, Sequence, batch_of, decode_header, first_word
from swdual.text.messages import name_some, pluralize, quote, sanitize

OnInvalid = Literal["error", "replace", "skip"]
"""Letters outside the alphabet raise an error, are read as the wildcard, or skip their record.

Where they are read as the wildcard, digits are left out.
"""

BLANKS = b" \t\n\v\f\r"
DIGITS = b"0123456789"
"""Numbers of lines, as GCG and GenBank write them: never residues."""

_SUSPICIOUS_SHARE = 0.2
_MIN_WORD = 20
"""Letters of a word at the end of a header line that may be the sequence."""

logger = logging.getLogger("swdual")


def warn_of_digits(count: int, name: str = "") -> None:
    """Log a warning if digits were left out.

    Parameters
    ----------
    count, name
        How many, and the beginning of the message.
    """
    if count:
        digits = pluralize(count, "digit", "digits")
        logger.warning("%s%s among the residues left out", name, digits)


class Validator:
    """Encodes the records of one file, and counts invalid letters and empty records.

    Parameters
    ----------
    name
        The file, for messages.
    alphabet
        The letters.
    on_invalid
        What to do with other letters: see `read_batches`.
    """

    def __init__(self, name: str, alphabet: Alphabet, on_invalid: OnInvalid) -> None:
        self.name = name
        self.alphabet = alphabet
        self.records = 0
        self._on_invalid = on_invalid
        self._residues = self._replaced = self._skipped = self._digits = 0
        self._shown = sanitize(name)
        self._empty: list[str] = []
        self._hint = ""

    def count(self, batch: Batch) -> Batch:
        """Count well-formed records; return them."""
        self.records += len(batch.lengths)
        self._residues += int(batch.lengths.sum())
        return batch

    def encode(
        self, records: Iterable[tuple[str, bytes]], complain: Callable[[], InputError]
    ) -> Batch:
        """Return records as a batch.

        Parameters
        ----------
        records
            Titles and residues.
        complain
            Returns the error for the first invalid letter among them.
        """
        sequences = []
        wildcard = bytes([self.alphabet.letters.index(self.alphabet.wildcard)])
        before = self.records + len(self._empty) + self._skipped
        for number, (title, residues) in enumerate(records, start=before + 1):
            check_stop()
            title = title.strip(BLANKS.decode()) or f"sequence_{number}"
            if self._on_invalid == "replace":
                letters = residues.translate(None, DIGITS)
                self._digits += len(residues) - len(letters)
                residues = letters
            codes = residues.translate(self.alphabet.encoding, BLANKS)
            invalid = codes.count(INVALID)
            if invalid and self._on_invalid == "error":
                raise complain()
            if invalid and self._on_invalid == "skip":
                self._skipped += 1
            elif not codes:
                self._empty.append(sanitize(first_word(title)))
                self._look_for_residues(title)
            else:
                self._replaced += invalid
                codes = codes.replace(bytes([INVALID]), wildcard)
                sequences.append(Sequence(title, codes, self.alphabet))
        return self.count(batch_of(sequences))

    def _look_for_residues(self, title: str) -> None:
        """Keep in mind that the header line of an empty record ends in residues."""
        word = title.encode().split()[-1]
        if len(word) >= _MIN_WORD and not word.translate(None, self.alphabet.spellings):
            self._hint = self._hint or (
                f"; the header line of {quote(first_word(title))} ends in {len(word):,} "
                "letters: is that the sequence? Put it on a line of its own"
            )

    def invalid_letter(self, line: bytes, number: int, text: bytes = b"") -> InputError | None:
        """Return the error for the first invalid letter in a line of residues, or None.

        Parameters
        ----------
        line, number
            The line, and its number in the file.
        text
            The part of a FASTA file that the line stands in; only an error looks at it.
        """
        check_stop()
        invalid = line.translate(None, self.alphabet.spellings + BLANKS)
        if not invalid:
            return None
        letter = decode_header(line[line.find(invalid[:1]) :])[0]
        return self._refusal(letter, number, are_proteins(text))

    def _refusal(self, letter: str, line: int, proteins: bool) -> InputError:
        if proteins and self.alphabet.name != PROTEIN.name:
            message = (
                f"{letter!r} is not a nucleotide letter, and the file looks like proteins, which "
                "are read with `dbtype='prot'`, and compared with nucleotides by tblastn"
            )
        elif letter in "-.":
            message = (
                f"gap character {letter!r} among the residues (an alignment, not a sequence?); "
                "remove the gaps, or use `on_invalid='skip'`"
            )
        elif letter == ":":
            message = (
                "':' among the residues (chains of a complex, as ColabFold joins them?); write "
                "each chain as a record, and give them to 'swdual msa --complex'"
            )
        else:
            kind = "an amino acid" if self.alphabet.name == PROTEIN.name else "a nucleotide"
            is_digit = letter.encode() in DIGITS
            reading = "leave out digits" if is_digit else f"read it as {self.alphabet.wildcard}"
            message = (
                f"{letter!r} is not {kind} letter; use `on_invalid='replace'` to {reading}, or "
                "`on_invalid='skip'` to skip such records"
            )
        return InputError(message, file=self.name, line=line)

    def finish(self) -> None:
        """Log a warning for each kind of finding.

        Raises
        ------
        InputError
            If no record is left, or so many letters were replaced that the file has probably
            another type.
        """
        if self._empty:
            shown = name_some(self._empty)
            records = pluralize(len(self._empty), "empty record", "empty records")
            hint = self._hint if self.records else ""  # else the error has it
            logger.warning("%s: %s left out (%s)%s", self._shown, records, shown, hint)
        warn_of_digits(self._digits, f"{self._shown}: ")
        if self._replaced:
            residues = pluralize(self._replaced, "invalid residue", "invalid residues")
            logger.warning("%s: %s replaced", self._shown, residues)
        if self._skipped:
            records = pluralize(self._skipped, "record", "records")
            logger.warning("%s: %s with invalid residues left out", self._shown, records)
        kind = "amino acids" if self.alphabet.name == PROTEIN.name else "nucleotides"
        if self._replaced > _SUSPICIOUS_SHARE * self._residues:
            raise InputError(
                f"{self._replaced:,} of {self._residues:,} residues are not {kind}; "
                "is this the right kind of file?",
                file=self.name,
            )
        if self.records == 0:
            if self._empty:
                words = f"no residues: every record is empty{self._hint}"
                raise InputError(words, file=self.name)
            if self._skipped:
                raise InputError(
                    f"no sequences left: every record has letters that are not {kind}; "
                    "is this the right kind of file?",
                    file=self.name,
                )
            raise InputError("no sequences (file is empty)", file=self.name)
