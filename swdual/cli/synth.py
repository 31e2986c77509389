"""`swdual synth`: artificial protein families in FASTA format."""

from __future__ import annotations

import re

import click

FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
"""What the suffixes of a size stand for."""


class Size(click.ParamType[int]):
    """A positive number with an optional suffix: 650k, 20M, 1G."""

    name = "size"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number; fail with a message that shows how to write one."""
        match = re.fullmatch(r"(0*[1-9][0-9]*)([kmg]?)", str(value), re.ASCII | re.IGNORECASE)
        if not match:
            self.fail(f"{value!r} is no size; write for example 5000, 650k, 20M or 1G", param, ctx)
        return int(match[1]) * FACTORS[match[2].lower()]


@click.command("synth", short_help="Make artificial protein families.")
@click.argument("residues", type=Size())
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
    with replacing(out, force=force) as stream:
        sequences, written = synthesis.write_fasta(records, Utf8(stream))
    if out != "-":
        click.echo(f"{out}: {sequences:,} sequences, {written:,} residues", err=True)
