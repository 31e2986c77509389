"""`--resume`: whether a command that searches goes on where another ended."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from swdual.io.output import STDOUT
from swdual.text.messages import name_some

if TYPE_CHECKING:
    from swdual.master.checkpoint import Identity
    from swdual.results.file_types import OutputFormat

logger = logging.getLogger("swdual")


class Resumption:
    """The journal of an output, and whether a search goes on with it.

    Parameters
    ----------
    out, chosen
        The output, and how it is written.
    resume, force
        The values of these options.

    Raises
    ------
    click.UsageError
        If the search is to go on, but the output is no file.
    """

    def __init__(self, out: str, chosen: OutputFormat, *, resume: bool, force: bool) -> None:
        from swdual.master.completion import Completion

        self._out = out
        self._resumes = resume
        self._forces = force
        self.journal = _journal_path(out)
        self._completion = None if self.journal is None else Completion(out, self.journal, chosen)
        if resume and self._completion is None:
            raise click.UsageError("--resume needs the file that the search was to write: -o FILE.")

    def is_complete(
        self, identify: Callable[[], Identity], list_files: Callable[[], list[str]] | None = None
    ) -> bool:
        """Return whether nothing is to be done, as the output is complete; then say so.

        Parameters
        ----------
        identify
            Returns which search it is.
        list_files
            Returns the files of the output, if it is not one file.

        Raises
        ------
        OutputError
            If the output is that of another search.
        """
        completion = self._completion
        if completion is None or not self._resumes or self._forces:
            return False
        files = [self._out] if list_files is None else list_files()
        each_completion = [*map(completion.of_file, files)]
        if not all(each.has_output() for each in each_completion):
            return False
        identity = identify()
        for each in each_completion:
            each.require(identity)
        verb = "is" if len(files) == 1 else "are"
        logger.info(
            "%s %s complete: nothing to resume; --force searches again", name_some(files), verb
        )
        return True

    @property
    def replaces(self) -> bool:
        """Whether files that are there are replaced: those of the interrupted search, or any."""
        completion = self._completion
        interrupted = completion is not None and self._resumes and completion.is_interrupted()
        return self._forces or interrupted

    def begin(self) -> None:
        """Delete the journal of an earlier search, if this one begins anew."""
        from swdual.io.journal import Journal

        begins_anew = self._forces and not self._resumes
        if begins_anew and self.journal is not None and self.journal.exists():
            Journal(self.journal).remove()

    def keep_record(self, descriptor: int, identity: Identity) -> None:
        """Record that an open file is the output of a search: see `Completion.keep`."""
        if self._completion is not None:
            self._completion.keep(descriptor, identity)

    def left(self) -> bytes | None:
        """Return the record that the journal has to keep, if any: see `Completion.left`."""
        return self._completion.left() if self._resumes and self._completion is not None else None


def _journal_path(out: str) -> Path | None:
    """Return the path of the journal of an output file; None if the output is not a file."""
    path = Path(out)
    if out in STDOUT or (path.exists() and not path.is_file()):
        return None
    return path.with_name(path.name + ".journal")
