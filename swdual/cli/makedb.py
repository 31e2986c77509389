"""`swdual makedb`: FASTA files, or databases of other programs, to a database file."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import click

from swdual.cli import logging_options, pluralize
from swdual.cli._complete import complete_names
from swdual.cli._options import Command, Count, OutputPath, declare, option
from swdual.cli._size import Size
from swdual.text.messages import duration

if TYPE_CHECKING:
    from swdual.sequences.validation import OnInvalid

logger = logging.getLogger("swdual")


GROUPS = {
    "Input": "sources dbtype on_invalid taxid taxid_map taxonomy",
    "Masks": "mask mask_file",
    "Output": "target title force shards",
    "Memory": "memory_limit",
}

EXAMPLES = """
swdual makedb proteins.fasta.gz proteins.db
zcat *.fa.gz | swdual makedb - all.db
swdual makedb uniref90.fasta.gz /data/uniref90.db --shards 16
swdual makedb genomes.fasta genomes.db --mask dust --mask lcase
swdual makedb uniprot.fasta.gz uniprot.db --taxonomy taxdump.tar.gz
swdual makedb nr nr.db
"""


@click.command(
    "makedb",
    cls=Command,
    groups=GROUPS,
    examples=EXAMPLES,
    short_help="Build a database from FASTA files.",
)
@click.argument("files", nargs=-1, metavar="[FASTA... DB]", type=click.Path(allow_dash=True))
@option(
    "-i",
    "--in",
    "sources",
    blast="-in",
    multiple=True,
    type=click.Path(allow_dash=True),
    metavar="FASTA",
    help="Input file, same as the first arguments; may be repeated.",
)
@option(
    "-d",
    "-o",
    "--db",
    "--out",
    "target",
    blast="-db -out",
    type=OutputPath(),
    metavar="DB",
    help="Database to write, same as the last argument.",
)
@declare("dbtype")
@option("--title", blast="-title", help="Title of the database.  [default: the first file]")
@declare("on_invalid")
@option(
    "--memory-limit",
    type=Size(1024),
    help="Largest amount of memory to use, such as 500M.  [default: 90 % of what the machine or "
    "job allows; at most 1 GiB is used]",
)
@option(
    "--shards",
    type=Count(min=1),
    metavar="N",
    help="Put the residues into N files DB.000, DB.001, ...: one for each node of a cluster.",
)
@option(
    "--mask",
    multiple=True,
    shell_complete=complete_names("kept masks"),
    metavar="METHOD",
    help="Keep the intervals of a mask in DB: seg (proteins), dust (nucleotides) or tantan, alone "
    "or with numbers, as in seg:10,1.8,2.1; or lcase for letters in lower case. May be repeated.",
)
@option(
    "--mask-file",
    type=click.Path(),
    metavar="FILE",
    help="Keep the intervals of FILE in DB, as 'swdual mask -f interval' writes them.",
)
@option(
    "--taxid",
    blast="-taxid",
    type=Count(min=1),
    metavar="N",
    help="Taxonomy id of all sequences.  [default: those in headers, as OX=9606 in UniProt's]",
)
@option(
    "--taxid-map",
    blast="-taxid-map",
    type=click.Path(),
    metavar="FILE",
    help="Table of taxonomy ids: an identifier and an id a line, or NCBI's "
    "prot.accession2taxid.gz.",
)
@option(
    "--taxonomy",
    type=click.Path(),
    metavar="PATH",
    help="NCBI's taxdump, the folder or taxdump.tar.gz. DB keeps what its ids need of it.",
)
@option("--force", is_flag=True, help="Replace DB if it exists.")
@logging_options
def command(
    files: tuple[str, ...],
    sources: tuple[str, ...],
    target: str | None,
    dbtype: str,
    title: str | None,
    on_invalid: OnInvalid,
    memory_limit: int | None,
    shards: int | None,
    mask: tuple[str, ...],
    mask_file: str | None,
    taxid: int | None,
    taxid_map: str | None,
    taxonomy: str | None,
    force: bool,
    progress: bool,
) -> None:
    """Build a database from FASTA or FASTQ files. Searches open it without delay.

    Taxonomy ids of sequences are kept, so that searches can choose organisms and tell them;
    --taxonomy adds their names and lineages.

    A FASTA may also be a database of BLAST (its name, or its .pal, .nal, .pin or .nin), MMseqs2 or
    DIAMOND (.dmnd). The masks of a BLAST database are kept.

    --mask finds masked letters once, for searches that use them; residues stay as they are.

    Files may be compressed (gz, bz2, xz, zst); "-" is standard input. The database appears under
    its name when it is complete. Its content does not depend on --memory-limit.

    With --shards N, DB holds the names and lengths, and N files beside it hold the residues. Each
    of them has long and short sequences. A machine that has DB and some of these files can search
    them.
    """
    inputs = [*sources, *files]
    if target is None:
        if len(inputs) < 2 or not files:
            raise click.UsageError("Name at least one FASTA file, and the database to write.")
        target = inputs.pop()
    if not inputs:
        raise click.UsageError("Name at least one FASTA file.")
    from swdual.database.makedb import makedb

    started = time.perf_counter()
    database = makedb(
        inputs,
        target,
        dbtype=dbtype,
        title=title,
        on_invalid=on_invalid,
        force=force,
        memory_limit=memory_limit,
        shards=shards,
        mask=mask,
        mask_file=mask_file,
        taxid=taxid,
        taxid_map=taxid_map,
        taxonomy=taxonomy,
        progress=progress,
    )
    with database:
        seconds = time.perf_counter() - started
        logger.info(
            "%s: %s, %s, %s",
            target,
            database.describe_sequences(),
            pluralize(database.residues, "residue", "residues"),
            duration(seconds),
        )
