"""`swdual synth`: artificial protein families in FASTA format."""

from __future__ import annotations

import logging

import click

from swdual.cli import logging_options
from swdual.cli._options import Command, Count, OutputPath, option
from swdual.cli._size import Size
from swdual.text.messages import pluralize

logger = logging.getLogger("swdual")

EXAMPLES = """
swdual synth 20M --seed 1 -o proteins.fasta              # a database to search in
swdual synth 20M --seed 1 --queries 5 -o queries.fasta   # five queries with relatives in it
"""


@click.command(
    "synth", cls=Command, examples=EXAMPLES, short_help="Make artificial protein families."
)
@click.argument("residues", type=Size(1000))
@option(
    "-o",
    "--out",
    type=OutputPath(dir_okay=False, allow_dash=True),
    default="-",
    help="File to write.  [default: standard output]",
)
@option(
    "--seed",
    type=Count(min=0),
    default=0,
    show_default=True,
    help="Seed of the random numbers; equal seeds give equal sequences.",
)
@option(
    "--family-size",
    type=Count(1, 1000),
    default=8,
    show_default=True,
    help="Number of sequences that descend from one ancestor; with 1, none has a relative.",
)
@option(
    "--queries",
    type=Count(1, 1000),
    metavar="N",
    help="Write N queries instead of the database: new relatives of N of its sequences, about "
    "100 to 1500 residues long. Give the same RESIDUES, --seed and --family-size as for the "
    "database.",
)
@option("--force", is_flag=True, help="Replace the file if it exists.")
@logging_options
def command(
    residues: int,
    out: str,
    seed: int,
    family_size: int,
    queries: int | None,
    force: bool,
    **_: bool,
) -> None:
    """Write artificial protein families with about RESIDUES residues in FASTA format.

    RESIDUES is a number such as 5000, 650k, 20M or 1G. Composition and lengths are those of
    Swiss-Prot. The members of a family descend from one random ancestor by substitutions (with
    BLOSUM62's probabilities), insertions and deletions. Some are nearly identical, others hardly
    recognizable. About 4 % of the sequences have no relative. Each header names the family, the
    member and its divergence: the fraction of residues that were replaced since the ancestor.
    """
    from swdual.io.file_kind import FASTA
    from swdual.io.output import Utf8, replace_file
    from swdual.sequences import synthesis

    logger.debug(
        "seed %d, families of %d; %s",
        seed,
        family_size,
        "a database" if queries is None else pluralize(queries, "query", "queries"),
    )
    if queries is None:
        records = synthesis.synthesize(residues, seed=seed, family_size=family_size)
    else:
        records = synthesis.synthesize_queries(
            residues, count=queries, seed=seed, family_size=family_size
        )
    with replace_file(out, FASTA, force=force, compress=True) as stream:
        sequences, written = synthesis.write_fasta(records, Utf8(stream))
    if out != "-":
        number = pluralize(sequences, "sequence", "sequences")
        logger.info("%s: %s, %s", out, number, pluralize(written, "residue", "residues"))
