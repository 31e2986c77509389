"""What commands of searches share besides `search_options`: the format, lists of targets."""

from __future__ import annotations

import os
from typing import Any

import click

from swdual.cli._complete import complete_format
from swdual.cli._options import option

outfmt_option = option(
    "-f",
    "--outfmt",
    blast="-outfmt",
    shell_complete=complete_format,
    metavar="FORMAT",
    help='Number or name of the format, with fields for tables: "6 std qcovhsp".  '
    "[default: by the name of the output file, else 6]",
)
"""The format of hits."""


def read_target_lists(options: dict[str, Any]) -> None:
    """Replace files with lists of targets by what they hold.

    Parameters
    ----------
    options
        All options of a search. Taxonomy ids of files are added to those that are listed.

    Raises
    ------
    InputError
        If a file cannot be read, or holds something else.
    """
    from swdual.database.id_list import read_id_list
    from swdual.taxonomy.taxid_list import read_taxids

    for name, file in (("taxids", "taxidlist"), ("not_taxids", "not_taxidlist")):
        path = options.pop(file)
        if path is not None:
            listed = [] if options[name] is None else [options[name]]
            options[name] = [*listed, *read_taxids(path, file)]
    for name in ("target_ids", "not_target_ids"):
        if options[name] is not None:
            options[name] = read_id_list(options[name])


def refuse_shared_output(outputs: list[str]) -> None:
    """Raise an error if two outputs go to one file: the second would replace the first."""
    targets = [path if path == "-" else os.path.realpath(path) for path in outputs]
    for path, target in zip(outputs, targets, strict=True):
        if targets.count(target) > 1:
            name = "standard output" if target == "-" else path
            raise click.UsageError(f"Only one output can go to {name}.")
