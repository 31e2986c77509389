"""`swdual info`: what a database holds, and whether it is whole."""

from __future__ import annotations

import json

import click


@click.command("info", short_help="Show what a database holds.")
@click.argument("db", type=click.Path())
@click.option("--check", is_flag=True, help="Verify every checksum, and count the letters.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object instead of lines.")
def command(db: str, check: bool, as_json: bool) -> None:
    """Show what the database DB holds."""
    from swdual.database.database import Database

    with Database.open(db, check=check) as database:
        facts = database.facts(letters=check)
        if as_json:
            click.echo(json.dumps(facts))
            return
        for name, value in facts.items():
            if isinstance(value, dict):
                shown = "  ".join(f"{letter} {count:,}" for letter, count in value.items())
            else:
                shown = f"{value:,}" if isinstance(value, int) else str(value)
            click.echo(f"{name:<12}{shown}")
        if check:
            click.echo("checksums   all right")
