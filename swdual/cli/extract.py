"""`swdual extract`: sequences of a database, as FASTA."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from swdual.cli._complete import complete_files
from swdual.cli._options import Command, named_inputs, option, sequence_output_options
from swdual.cli._record_format import AS_FASTA, Record, RecordFormat

if TYPE_CHECKING:
    from swdual.sequences.sequence import Sequence

MAX_NAMED = 5
"""Identifiers without a record that the error names."""

EXAMPLES = """
swdual extract uniprot.db P01008 "sp|P02232|LGB1_VICFA"
swdual search q.fasta uniprot.db | cut -f 2 | swdual extract uniprot.db --ids - -o hits.fasta
swdual extract genomes.db chr7 --range 1001-2000 --strand minus
swdual extract uniprot.db --all -outfmt "%a %l"
"""


class _Range(click.ParamType[object]):
    """First and last letter of a part, counted from 1; without a last one it ends with the record.

    >>> _Range().convert("10-50", None, None)
    Location(first=10, last=50)
    """

    name = "range"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        if not isinstance(value, str):
            return value
        from swdual.errors import InputError
        from swdual.sequences.location import Location

        try:
            return Location.of(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


@click.command(
    "extract", cls=Command, examples=EXAMPLES, short_help="Write sequences of a database as FASTA."
)
@click.argument("words", nargs=-1, metavar="DB [ID...]", shell_complete=complete_files)
@option("-d", "--db", blast="-db", type=click.Path(), help="Database (same as the first argument).")
@option(
    "--ids",
    blast="-entry-batch",
    type=click.Path(allow_dash=True, dir_okay=False),
    metavar="FILE",
    help="File with one identifier in each line (its first word); '-' is standard input.",
)
@option("--entry", blast="-entry", hidden=True, help="Identifiers, separated by commas.")
@option("--all", "everything", is_flag=True, help="All records, in the order of the input.")
@option(
    "--range",
    "part",
    blast="-range",
    type=_Range(),
    metavar="FIRST-LAST",
    help="Only these letters of each record, counted from 1, such as 10-50 or 10-.",
)
@option(
    "--strand",
    blast="-strand",
    type=click.Choice(["plus", "minus"]),
    default="plus",
    show_default=True,
    help="Strand of nucleotides; minus is the reverse complement.",
)
@option(
    "-f",
    "--outfmt",
    "form",
    blast="-outfmt",
    type=RecordFormat(),
    default=AS_FASTA,
    metavar="FORMAT",
    help="A line for each record instead of FASTA, with %a (accession), %t (title), %l (length), "
    "%s (letters), %o (number from 0 on), %T (taxonomy ids), %S and %L (scientific and common "
    "names).",
)
@sequence_output_options
def command(
    words: tuple[str, ...],
    db: str | None,
    ids: str | None,
    entry: str | None,
    everything: bool,
    part: tuple[int, int | None] | None,
    strand: str,
    form: RecordFormat,
    width: int,
    out: str,
    force: bool,
) -> None:
    """Write the records of the database DB with these identifiers as FASTA, or a line for each.

    DB may also be a database of BLAST, MMseqs2 or DIAMOND.

    An ID is the first word of a header line, or of one of several titles that Ctrl-A separates, as
    in NCBI's nr. If no record has it, a part between bars also counts,
    with or without its version: P01008 finds sp|P01008.1|ANT3_HUMAN. Bars that BLAST writes around
    an accession are passed over: ref|NP_000509.1| finds NP_000509.1.

    Records come in the order of the IDs, each once. If some IDs are not found, the others are
    written, an error lists the missing ones, and the exit code is 1.

    Letters are those that the database keeps: upper case, U of RNA as T, and X (N) where makedb
    replaced invalid letters.
    """
    names = [*words]
    if db is None:
        if not names:
            raise click.UsageError("Name the database, and identifiers of its records.")
        db = names.pop(0)
    everything = everything or entry == "all"
    names += entry.split(",") if entry and entry != "all" else []
    if everything == bool(names or ids):
        raise click.UsageError("Give identifiers, or --ids FILE, or --all by itself.")
    from swdual.database.database import Database
    from swdual.database.id_list import read_id_list
    from swdual.errors import InputError
    from swdual.io.file_kind import FASTA, TABLE
    from swdual.io.output import Utf8, replace_file

    with Database.open(db) as database:
        if strand == "minus" and not database.alphabet.complements:
            raise click.BadParameter("proteins have one strand only", param_hint="--strand")
        chosen: Iterable[int]
        if everything:
            chosen, failures = range(len(database)), []
        else:
            chosen, errors = database.select([*names, *(read_id_list(ids) if ids else ())])
            failures = [str(error) for error in errors.values()]
        if chosen:
            with replace_file(
                out,
                FASTA if form.is_fasta else TABLE,
                force=force,
                compress=True,
                inputs=[db, *named_inputs()],
            ) as stream:
                text = Utf8(stream)
                for ordinal, record in zip(chosen, database.records(chosen), strict=True):
                    try:
                        cut = _cut(record, part, strand)
                    except InputError as error:
                        failures.append(str(error))
                        continue
                    if form.is_fasta:
                        text.write(cut.to_fasta(width))
                    else:
                        shown = Record(replace(cut, title=record.title), ordinal, database)
                        text.write(form.line(shown))
    if failures:
        missing = InputError(failures[0])
        for failure in failures[1:MAX_NAMED]:
            missing.add_note(failure)
        if len(failures) > MAX_NAMED:
            missing.add_note(f"{len(failures):,} records were not written, these are the first")
        raise missing


def _cut(record: Sequence, part: tuple[int, int | None] | None, strand: str) -> Sequence:
    """Return a part of a record as it is to be written; the header line says which part it is."""
    from swdual.errors import InputError
    from swdual.sequences.sequence import clean_header, description, first_word, split_titles
    from swdual.text.messages import TITLE_SEPARATOR

    title, codes = record.title, record.codes
    if part is not None or strand == "minus":
        first, last = part or (1, None)
        last = min(last or len(record), len(record))
        if first > len(record):
            raise InputError(
                f"{record.id} has {len(record):,} letters, but --range begins at {first:,}"
            )
        codes = codes[first - 1 : last]
        place = f"{first}-{last}" if strand == "plus" else f"c{last}-{first}"
        title = TITLE_SEPARATOR.join(
            f"{first_word(each)}:{place} {description(each)}".rstrip()
            for each in split_titles(title)
        )
    if strand == "minus":
        codes = record.alphabet.reverse_complement(codes)
    return replace(record, title=clean_header(title), codes=codes)
