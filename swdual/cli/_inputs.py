"""What a command searches with and in: queries, or a profile, and a database."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

import click

from swdual.cli._options import Count, combine, find_written_option, option

if TYPE_CHECKING:
    from pathlib import Path

    from swdual.profiles import Profile

PROFILE_PHRASES = {"from_msa": "--msa", "read_profile": "--pssm"}
"""Options for the functions that messages about profiles name."""

profile_options = combine(
    option(
        "--pssm",
        blast="-in-pssm",
        type=click.Path(),
        metavar="FILE",
        help="Search with a profile instead of queries: a file of psiblast (-out_pssm or "
        "-out_ascii_pssm), a model of HMMER3, or a table of 20 probabilities for each position "
        "(.npy, .csv, .tsv).",
    ),
    option(
        "--msa",
        blast="-in-msa",
        type=click.Path(),
        metavar="FILE",
        help="Search with the profile of a multiple alignment instead of queries: a3m, aligned "
        "FASTA, Stockholm or Clustal. Its first sequence is the query.",
    ),
    option(
        "--msa-master",
        "master",
        blast="-msa-master-idx",
        type=Count(min=1),
        metavar="N",
        help="The number of the sequence of --msa that is the query.  [default: 1]",
    ),
    option(
        "--ignore-msa-master",
        "ignore_master",
        blast="-ignore-msa-master",
        is_flag=True,
        help="Make the profile of the other sequences of --msa only; the query gives its columns.",
    ),
)
"""A profile instead of queries."""

input_options = combine(
    option(
        "-q",
        "--query",
        blast="-query",
        type=click.Path(allow_dash=True),
        help="Query file, same as the first argument.  (To print less, use --quiet.)",
    ),
    option(
        "-d",
        "--db",
        blast="-db -subject",
        type=click.Path(allow_dash=True),
        help="Database, same as the second argument.",
    ),
    profile_options,
)
"""Queries and database."""


@dataclass(frozen=True)
class ProfileSource:
    """The file of a profile: the values of `profile_options`.

    Parameters
    ----------
    pssm, msa
        A profile, or a multiple alignment; the other one is None.
    master, ignore_master
        Which sequence of the multiple alignment is the query, and whether it counts.
    """

    pssm: str | None
    msa: str | None
    master: int | None
    ignore_master: bool

    @classmethod
    def take(cls, options: dict[str, Any]) -> Self | None:
        """Return the profile that a command was given, if any.

        Parameters
        ----------
        options
            The options of the command; `profile_options` are taken out.

        Raises
        ------
        click.UsageError
            If they exclude each other, or one lacks another.
        """
        names = ("pssm", "msa", "master", "ignore_master")
        pssm, msa, master, ignored = (options.pop(name) for name in names)
        if pssm is not None and msa is not None:
            raise click.UsageError("--pssm and --msa exclude each other; give one of them.")
        if msa is None and (master is not None or ignored):
            written = find_written_option("ignore_master" if ignored else "master")
            raise click.UsageError(f"{written} needs a multiple alignment: --msa FILE.")
        return None if pssm is None and msa is None else cls(pssm, msa, master, ignored)

    @property
    def option(self) -> str:
        """The option that names the file."""
        return "--pssm" if self.msa is None else "--msa"

    def refuse_queries(self) -> NoReturn:
        """Raise an error that there are queries, too."""
        raise click.UsageError(f"{self.option} takes the place of queries; give one of them.")

    @property
    def path(self) -> str:
        """The file."""
        return self.pssm or self.msa or ""

    def read(self, options: Mapping[str, Any]) -> Profile:
        """Return the profile.

        Parameters
        ----------
        options
            The options of the command: those of scoring, `pseudocount` and
            `min_block_width` decide about the profile of a multiple alignment.

        Raises
        ------
        InputError, MatrixError, StatisticsUnavailable
            If there is no profile in the file, or none can be made of it.
        """
        from swdual.profiles import Profile, read_profile
        from swdual.profiles.msa import require_proteins
        from swdual.sequences.scoring import find_task

        if self.msa is None:
            profile = read_profile(self.path)
            require_proteins(profile.codes, self.path, options["dbtype"])
            return profile
        return Profile.from_msa(
            self.msa,
            master=self.master or 1,
            ignore_master=self.ignore_master,
            dbtype=options["dbtype"],
            matrix=options.get("matrix") or find_task(options.get("task") or "blastp").matrix,
            gap_open=options.get("gap_open"),
            gap_extend=options.get("gap_extend"),
            pseudocount=options.get("pseudocount", 0),
            min_block_width=options.get("min_block_width", 0),
        )


@dataclass(frozen=True)
class Inputs:
    """What a command reads: the values of its arguments and of `input_options`.

    Parameters
    ----------
    query, profile
        The queries; one of both is None.
    db
        The database.
    """

    query: str | None
    profile: ProfileSource | None
    db: str

    @classmethod
    def take(cls, files: tuple[str, ...], options: dict[str, Any]) -> Self:
        """Return the inputs of a command.

        Parameters
        ----------
        files, options
            The arguments of the command and its options; `input_options` are taken out.

        Raises
        ------
        click.UsageError
            If one is missing, or there are too many.
        """
        names = list(files)
        query, db, profile = options.pop("query"), options.pop("db"), ProfileSource.take(options)
        if query is None and profile is None and names:
            query = names.pop(0)
        if db is None and names:
            db = names.pop(0)
        if profile is not None and (query is not None or names):
            profile.refuse_queries()
        check_sources(query is not None or profile is not None, db is not None, names)
        if query == db == "-":
            raise click.UsageError("Only one of queries and database can be standard input.")
        return cls(query, profile, db)

    @property
    def paths(self) -> list[str]:
        """The files."""
        source = self.query if self.profile is None else self.profile.path
        from swdual.database.reader import list_files

        files = [os.fspath(file) for file in list_files(self.db)]
        return files if source is None else [source, *files]

    def find_queries(self, options: Mapping[str, Any]) -> Path | str | Profile:
        """Return the queries for `swdual.search`: see `name_input` and `ProfileSource.read`."""
        if self.profile is not None:
            return self.profile.read(options)
        assert self.query is not None
        return name_input(self.query)


def check_sources(queries: bool, database: bool, more: Sequence[str], *, instead: str = "") -> None:
    """Check that a command was given queries and a database, and nothing more.

    Parameters
    ----------
    queries, database
        Whether it was given them.
    more
        Other files that it was given.
    instead
        What takes the place of both, for the messages.

    Raises
    ------
    click.UsageError
        If not; the message says what is missing.
    """
    other = f"; or give {instead}" if instead else ""
    if not queries and not database:
        raise click.UsageError(
            f"There are no queries and no database: name a file of queries and a database{other}."
        )
    if not queries:
        raise click.UsageError(
            f"There are no queries: name a file, or - for standard input{other}."
        )
    if not database:
        raise click.UsageError(
            f"There is no database: name it after the queries, or with -d{other}."
        )
    if more:
        raise click.UsageError(
            f"{', '.join(more)}: one file of queries and one database are enough; join files of "
            "queries with 'cat', and build one database of several files with 'swdual makedb'."
        )


def name_input(name: str) -> Path | str:
    """Return a file for the functions of the library: a path, a URL, or "-"."""
    from pathlib import Path

    from swdual.text.url import is_url

    return name if name == "-" or is_url(name) else Path(name)
