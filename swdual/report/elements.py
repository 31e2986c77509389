"""Parts of a page's text: facts, tables, sections. Values are text, and never markup."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from swdual.text.notebook import Head, Markup, join, text


def definitions(facts: Mapping[str, object]) -> Markup:
    """Return names with their values, one below the other."""
    items = (f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in facts.items())
    return Markup(f'<dl class="facts">{join(items)}</dl>')


def static_table(caption: str, heads: Sequence[Head], rows: Iterable[Sequence[str]]) -> Markup:
    """Return a table that needs no script.

    Parameters
    ----------
    caption
        What it holds.
    heads
        The heads of the columns; numbers stand right.
    rows
        The texts of the cells.
    """
    kinds = ["number" if head.align == "right" else "text" for head in heads]
    head = (
        f'<th scope="col" class="{kind}">{text(head.name)}</th>'
        for kind, head in zip(kinds, heads, strict=True)
    )
    lines = []
    for row in rows:
        cells = (f"<td class={k}>{text(cell)}</td>" for k, cell in zip(kinds, row, strict=True))
        lines.append(f"<tr>{join(cells)}</tr>")
    return Markup(
        f'<div class="static"><table><caption>{text(caption)}</caption>'
        f"<thead><tr>{join(head)}</tr></thead><tbody>{join(lines)}</tbody></table></div>"
    )


def details(summary: str, content: Markup) -> Markup:
    """Return what is shown when the reader asks for it.

    Parameters
    ----------
    summary
        What there is to see.
    content
        What is shown.
    """
    return Markup(f"<details><summary>{text(summary)}</summary>{content}</details>")
