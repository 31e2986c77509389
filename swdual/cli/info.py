"""`swdual info`: the content of a database and its integrity, or the hardware of this machine."""

from __future__ import annotations

import json

import click

from swdual.cli._options import Command, option

EXAMPLES = """
swdual info proteins.db
swdual info proteins.db --check
swdual info --system
"""


@click.command(
    "info",
    cls=Command,
    examples=EXAMPLES,
    short_help="Show the content of a database, or what this machine has.",
)
@click.argument("db", type=click.Path(), required=False)
@option("--check", is_flag=True, help="Verify all checksums, and count the letters.")
@option("--system", is_flag=True, help="Show versions, processors, GPUs and speed of this machine.")
@option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def command(db: str | None, check: bool, system: bool, as_json: bool) -> None:
    """Show the content of the database DB, or versions and hardware of this machine (--system).

    DB may be a database of BLAST, MMseqs2 or DIAMOND; then this is what its index says, and --check
    reads all records.
    """
    if system == (db is not None) or (system and check):
        raise click.UsageError("Give a database, or --system alone or with --json.")
    if db is None:
        _show_system(as_json)
    else:
        _show_database(db, check, as_json)


def _show_system(as_json: bool) -> None:
    from swdual.cli._system import measure_speeds, speed_lines, system_facts, system_lines

    facts = system_facts()
    if as_json:
        click.echo(json.dumps({**facts, "GCUPS": measure_speeds()}))
        return
    for name, value in system_lines(facts):
        click.echo(f"{name:<15}{value}")
    for name, value in speed_lines(measure_speeds()):  # may take some seconds, the first time
        click.echo(f"{name:<15}{value}")


def _show_database(db: str, check: bool, as_json: bool) -> None:
    from swdual.database.database import Database
    from swdual.database.reader import open_other
    from swdual.text.messages import sanitize

    other = open_other(db)
    facts = {} if other is None else other.facts()
    if other is None or check:
        with Database.open(db, check=check) as database:
            facts = database.facts(letters=check) | facts
    if as_json:
        click.echo(json.dumps(facts))
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            shown = "  ".join(f"{letter} {count:,}" for letter, count in value.items())
        else:
            shown = f"{value:,}" if isinstance(value, int) else str(value)
        click.echo(f"{name:<12}{sanitize(shown)}")
    if check and other is None:
        click.echo("checksums   all right")
