"""`swdual synth`: artificial protein families in FASTA format."""

from __future__ import annotations

import click

from swdual.cli._size import Size


@click.command("synth", short_help="Make artificial protein families.")
@click.argument("residues", type=Size(1000))
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, allow_dash=True),
    default="-",
    show_default="standard output",
    help="File to write.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Equal seeds give equal sequences.",
)
@click.option(
    "--family-size",
    type=click.IntRange(1, 1000),
    default=8,
    show_default=True,
    help="Sequences that descend from one ancestor; with 1, none has a relative.",
)
@click.option(
    "--queries",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Write, instead of the sequences, N queries for them: new relatives of N of them, from "
    "about 100 to 1500 residues long. Give the same RESIDUES, --seed and --family-size.",
)
@click.option("--force", is_flag=True, help="Overwrite the file.")
def command(
    residues: int, out: str, seed: int, family_size: int, queries: int | None, force: bool
) -> None:
    """Make artificial protein families of RESIDUES residues or a little more, in FASTA format.

    RESIDUES is a number such as 5000, 650k, 20M or 1G. Composition and lengths are those of
    Swiss-Prot. The members of a family come from one random ancestor by substitutions (as BLOSUM62
    expects them), insertions and deletions, and range from nearly identical to hardly
    recognizable; about 4 % of the sequences have no relative. Each header tells the family, the
    member, and its divergence: the share of residues that were drawn anew since the ancestor.

    \b
    A database to search in, and five queries that have relatives in it:
        swdual synth 20M --seed 1 --out proteins.fasta
        swdual synth 20M --seed 1 --queries 5 --out queries.fasta
    """
    from swdual.output import Utf8, replacing
    from swdual.sequences import synthesis

    if queries is None:
        records = synthesis.synthesize(residues, seed=seed, family_size=family_size)
    else:
        records = synthesis.synthesize_queries(
            residues, count=queries, seed=seed, family_size=family_size
        )
    with replacing(out, force=force, compress=True) as stream:
        sequences, written = synthesis.write_fasta(records, Utf8(stream))
    if out != "-":
        click.echo(f"{out}: {sequences:,} sequences, {written:,} residues", err=True)
