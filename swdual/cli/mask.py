"""`swdual mask`: low complexity and repeats of sequences."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import click

from swdual.cli import logging_options, pluralize
from swdual.cli._complete import complete_names
from swdual.cli._options import (
    Command,
    declare,
    named_inputs,
    option,
    sequence_output_options,
)

if TYPE_CHECKING:
    from swdual.sequences.sequence import Sequence
    from swdual.sequences.validation import OnInvalid

logger = logging.getLogger("swdual")

GROUPS = {
    "Input": "dbtype on_invalid",
    "Masks": "method hard",
    "Output": "out outfmt width force",
}

EXAMPLES = """
swdual mask proteins.fasta -o masked.fasta
swdual mask proteins.fasta --method seg:10,1.8,2.1 --hard
swdual mask genomes.fasta.gz --method tantan -f bed -o repeats.bed
"""


@click.command(
    "mask",
    cls=Command,
    groups=GROUPS,
    examples=EXAMPLES,
    short_help="Mask low complexity and repeats.",
)
@click.argument("fasta", required=False, metavar="FASTA", type=click.Path(allow_dash=True))
@option(
    "--in", "source", blast="-in", type=click.Path(allow_dash=True), hidden=True, help="Input file."
)
@option(
    "--method",
    metavar="METHOD",
    shell_complete=complete_names("masks"),
    help="What finds the letters: seg (proteins), dust (nucleotides), tantan or none, alone or "
    "with numbers.  [default: seg for proteins, dust for nucleotides]",
)
@option("--hard", is_flag=True, help="Write masked letters as X (or N), not in lower case.")
@option(
    "-f",
    "--outfmt",
    blast="-outfmt",
    type=click.Choice(["fasta", "interval", "bed"]),
    default="fasta",
    show_default=True,
    help="What to write. fasta: the sequences; interval: first and last masked letters from 0, as "
    "NCBI's segmasker prints them; bed: a table of intervals.",
)
@sequence_output_options
@declare("dbtype")
@declare("on_invalid")
@logging_options
def command(
    fasta: str | None,
    source: str | None,
    method: str | None,
    hard: bool,
    outfmt: str,
    width: int,
    out: str,
    force: bool,
    dbtype: str,
    on_invalid: OnInvalid,
    **_: bool,
) -> None:
    """Write sequences with regions of low complexity, or repeats, in lower case.

    \b
    seg:12,2.2,2.5   window, locut, hicut; as NCBI's segmasker
    dust:20,64,1     level, window, linker; as NCBI's dustmasker without N
    tantan:0.5       smallest probability; as tantan

    These are the defaults. blastp masks database sequences with seg:10,1.8,2.1, DIAMOND and MMseqs2
    mask with tantan:0.9.

    FASTA and FASTQ files may be compressed (gz, bz2, xz, zst); "-" is standard input. Letters are
    written in upper case, and U of RNA as T.
    """
    path = fasta or source
    if path is None or (fasta and source):
        raise click.UsageError("Name one FASTA file.")
    from swdual.database.source import read_typed_batches
    from swdual.io.file_kind import BED, FASTA, INTERVALS
    from swdual.io.output import Utf8, replace_file
    from swdual.masking.mask import DEFAULT_METHODS, parse_mask
    from swdual.sequences.detection import TypeRule

    mask = parse_mask(method or "none", "method")
    found = read_typed_batches([path], TypeRule(dbtype, mask.alphabet), on_invalid)
    batches, alphabet = found.batches, found.alphabet
    if method is None:
        mask = parse_mask(DEFAULT_METHODS[alphabet.name], "method")
    mask.require(alphabet, "method")
    letters = masked = 0
    kind = {"fasta": FASTA, "interval": INTERVALS, "bed": BED}[outfmt]
    with replace_file(out, kind, force=force, compress=True, inputs=named_inputs()) as stream:
        text = Utf8(stream)
        for batch in batches:
            for record in batch.sequences(alphabet):
                intervals = mask.find(record.codes, alphabet).tolist()
                letters += len(record)
                masked += sum(end - start for start, end in intervals)
                if outfmt == "fasta":
                    text.write(_fasta(record, intervals, hard, width))
                else:
                    text.write(_table(record, intervals, outfmt))
    logger.info("%s: %s of %s masked", mask, f"{masked:,}", pluralize(letters, "letter", "letters"))


def _fasta(record: Sequence, intervals: list[list[int]], hard: bool, width: int) -> str:
    from swdual.sequences.sequence import clean_header, format_fasta

    letters = record.letters
    parts = []
    shown = 0
    for start, end in intervals:
        parts.append(letters[shown:start])
        parts.append(
            record.alphabet.wildcard * (end - start) if hard else letters[start:end].lower()
        )
        shown = end
    parts.append(letters[shown:])
    return format_fasta(clean_header(record.title), "".join(parts), width)


def _table(record: Sequence, intervals: list[list[int]], outfmt: str) -> str:
    from swdual.sequences.interval_file import format_intervals
    from swdual.text.messages import sanitize

    if outfmt == "bed":
        return "".join(f"{sanitize(record.id)}\t{start}\t{end}\n" for start, end in intervals)
    return format_intervals(record.title, intervals)
