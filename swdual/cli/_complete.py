"""Names that a shell completes: what an option can be given, looked up when Tab is pressed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_names(kind: str, *more: str, files: bool = False, several: bool = False) -> Completer:
    """Return a function that completes names, for an option's `shell_complete`.

    Parameters
    ----------
    kind
        What the names stand for: a package of plug-ins such as "planners", or "matrices", "tasks",
        "masks", "kept masks" (in a database), "target masks" (of a search), "platforms", "metrics"
        or "devices".
    more
        Other names that the option takes.
    files
        Whether to offer files if no name fits.
    several
        Whether the option takes several names, separated by commas: the last one is completed.
    """

    def complete(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
        before, comma, last = word.rpartition(",") if several else ("", "", word)
        items = [
            CompletionItem(f"{before}{comma}{name}")
            for name in (*_names(kind), *more)
            if name.lower().startswith(last.lower())
        ]
        return items or (complete_files(ctx, param, word) if files else [])

    return complete


def complete_format(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
    """Complete an output format, and after it names of fields.

    Parameters
    ----------
    ctx, param, word
        Context and option, from click, and the word so far.
    """
    before, space, last = word.rpartition(" ")
    if not space:
        return [CompletionItem(name) for name in _names("formats") if name.startswith(word)]
    from swdual.hits.fields import FIELDS

    fields = {"std": "BLAST's twelve fields"} | {name: x.meaning for name, x in FIELDS.items()}
    return [
        CompletionItem(f"{before} {name}", help=meaning)
        for name, meaning in fields.items()
        if name.startswith(last) and name not in before.split()
    ]


def complete_files(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file.

    Parameters
    ----------
    ctx, param, word
        Context and option, from click, and the word so far.
    """
    return [CompletionItem(word, type="file")]


def _names(kind: str) -> Iterable[str]:
    if kind == "devices":
        return ("auto", "cpu", "cuda", "hybrid")
    if kind.endswith("masks"):
        from swdual.masking.mask import LOWER_CASE, METHODS, STORED_MASKS

        more = {"masks": (), "kept masks": (LOWER_CASE,), "target masks": STORED_MASKS}
        return (*METHODS, *more[kind])
    if kind == "matrices":
        from swdual.sequences import matrices

        return matrices.names()
    if kind == "tasks":
        from swdual.sequences.scoring import TASKS

        return TASKS
    if kind == "platforms":
        from swdual.scheduling.platform import PLATFORMS

        return sorted(PLATFORMS)
    if kind == "metrics":
        from swdual.scheduling.metrics import METRICS

        return METRICS
    from swdual import registry

    inside = "scheduling." if kind in ("policies", "allocators") else ""
    return registry.available(f"swdual.{inside}{kind}")
