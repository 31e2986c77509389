"""HTML that notebooks show: facts, tables, and text in columns.

A `Markup` is HTML that is safe to show; `text` makes it of any string, and names stay text. Colours
and fonts are those of JupyterLab's theme, light or dark, or the browser's own elsewhere. Styles are
written with each element: notebooks remove style sheets from pages that they do not trust.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, NewType

from swdual.text.messages import sanitize

Markup = NewType("Markup", str)

Align = Literal["left", "right"]

ACCENT = "#2486d8"
"""The colour of drawings: not the theme's, which pages that are not trusted do not get."""

_COLUMNS = "font-family:var(--jp-code-font-family,monospace);white-space:pre;line-height:1.3"
_CELL = "white-space:nowrap;vertical-align:middle;padding:.25em .7em;text-align:"
_CUT = (
    "display:inline-block;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;"
    "vertical-align:bottom;max-width:"
)
_FAINT = "opacity:.7"
_BAR = "display:inline-block;height:10px;vertical-align:middle"
_LINE = "display:inline-block;height:2px;vertical-align:middle;background:rgba(128,128,128,0.5)"


class Head(NamedTuple):
    """The head of a table's column."""

    name: str
    align: Align = "left"


class Group(NamedTuple):
    """Rows of a table under a line of their own; `title` may be empty."""

    title: Markup
    rows: Sequence[Sequence[Markup]]


def text(value: object) -> Markup:
    """Return a value as text: nothing in it is markup, and it has no control characters.

    >>> text("<b>")
    '&lt;b&gt;'
    """
    from html import escape

    return Markup(escape(sanitize(str(value))))


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Concatenate pieces of markup.

    Parameters
    ----------
    parts
        The pieces.
    between
        Markup to insert between two pieces.
    """
    return Markup(between.join(parts))


def paragraph(*parts: Markup) -> Markup:
    """Return a paragraph."""
    return Markup(f"<p>{join(parts)}</p>")


def strong(value: object) -> Markup:
    """Return a text in bold."""
    return Markup(f"<b>{text(value)}</b>")


def faint(value: object) -> Markup:
    """Return a text in a faint colour."""
    return Markup(f'<span style="{_FAINT}">{text(value)}</span>')


def cut(value: str, width: int) -> Markup:
    """Return a text that is cut off if it is too wide; a tooltip shows all of it.

    Parameters
    ----------
    value
        The text.
    width
        About how many letters to show.
    """
    shown = text(value)
    return Markup(f'<span title="{shown}" style="{_CUT}{0.55 * width:g}em">{shown}</span>')


def facts(values: Mapping[str, object]) -> Markup:
    """Return names with their values, in one line that may be wrapped between them."""
    items = (
        f'<span style="white-space:nowrap">{faint(name)} {text(value)}</span>'
        for name, value in values.items()
    )
    return paragraph(join(items, " &#160; "))


def table(heads: Sequence[Head], groups: Iterable[Group]) -> Markup:
    """Return a table whose cells are not wrapped; a table wider than the page can be scrolled.

    Parameters
    ----------
    heads, groups
        The heads of the columns, and the rows in groups.
    """
    head = "".join(f'<th style="{_CELL}{head.align}">{text(head.name)}</th>' for head in heads)
    rows = []
    for group in groups:
        if group.title:
            title = f'<th colspan="{len(heads)}" style="{_CELL}left;font-weight:normal">'
            rows.append(f"<tr>{title}{group.title}</th></tr>")
        for row in group.rows:
            cells = (
                f'<td style="{_CELL}{head.align}">{cell}</td>'
                for head, cell in zip(heads, row, strict=True)
            )
            rows.append(f"<tr>{''.join(cells)}</tr>")
    return Markup(
        f'<div style="overflow-x:auto"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def columns(lines: Iterable[Markup]) -> Markup:
    """Return lines in a fixed-width font, with all of their spaces."""
    return Markup(f'<pre style="{_COLUMNS};overflow-x:auto">{join(lines, chr(10))}</pre>')


def shade(value: str, shade: str) -> Markup:
    """Return a text on a coloured background.

    Parameters
    ----------
    value
        The text.
    shade
        A translucent CSS colour, as themes may be light or dark.
    """
    return Markup(f'<span style="background:{shade}">{text(value)}</span>')


def extent(start: float, end: float) -> Markup:
    """Return a drawing of a line with a part of it marked.

    Parameters
    ----------
    start, end
        Bounds of the part, between 0 and 1.
    """
    widths = (100 * start, max(100 * (end - start), 1), 100 * (1 - end))
    styles = (_LINE, f"{_BAR};background:{ACCENT}", _LINE)
    pieces = (
        f'<span style="{style};width:{width:.1f}px"></span>'
        for width, style in zip(widths, styles, strict=True)
    )
    return join(pieces)


def drawing(svg: str) -> Markup:
    """Return an SVG element.

    In pages that are not trusted, notebooks remove the element but leave its texts: they have size
    0.
    """
    return Markup(f'<div style="font-size:0">{svg}</div>')


def frame(page: str, title: str, height: int) -> Markup:
    """Return a whole page in a frame of its own, whose styles and scripts touch nothing else.

    Parameters
    ----------
    page
        The HTML of the page.
    title
        What it is.
    height
        Height of the frame, in pixels.
    """
    from html import escape

    return Markup(
        f'<iframe srcdoc="{escape(page)}" title="{text(title)}" height="{height}" '
        'sandbox="allow-scripts allow-downloads allow-popups" style="width:100%;border:0">'
        "</iframe>"
    )
