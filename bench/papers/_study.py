"""What a campaign makes of its rows: verdicts, tables and figures, all of them or those asked for.

`--claim 12` judges sentence 12 of the campaign's page, and `--figure 5.14` what the paper says of
that figure, which it draws. Only the rows that these need are made.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import RESULTS, Row, Rows, Run, draw, read_texts, release_of, write
from _verdicts import (
    Claim,
    asking,
    count,
    in_words,
    split_quotation,
    verdicts_on_sentences,
)

Claims = Callable[[], Iterable[Claim]]


class Drawing(NamedTuple):
    """A figure.

    Parameters
    ----------
    name
        Of its file.
    figures
        The figures and tables of the paper that it is as: "5.14", "table 2".
    make
        Returns it, with the panels of these figures only.
    """

    name: str
    figures: tuple[str, ...]
    make: Callable[[Sequence[str]], Any]


class Study(NamedTuple):
    """A campaign that can be judged and drawn.

    Parameters
    ----------
    rows
        Its tables.
    claims
        What the paper says, in the order of the page.
    inputs
        How the paper describes its workloads, and how they are here: checks, which are no claims.
    beyond
        The same claims on other workloads or by other readings, which are not counted.
    summary
        Returns means over the instances.
    drawings
        Its figures.
    """

    rows: Sequence[Rows]
    claims: Claims
    beyond: Claims
    summary: Callable[[], list[Row]]
    drawings: Sequence[Drawing]
    inputs: Claims = list

    def number_sentences(self) -> dict[tuple[str, str], int]:
        """Return the number of each sentence, from 1, in the order of the claims."""
        with asking(lambda claim: False):
            sentences = dict.fromkeys(each.sentence for each in self.claims())
        return {sentence: number for number, sentence in enumerate(sentences, 1)}


def conclude(name: str, study: Study, run: Run) -> None:
    """Judge and draw all of a campaign; print the verdicts, and write what there is."""
    for rows in study.rows:
        rows.complete()
    claims = [*study.claims()]
    _print_verdicts(claims, study.number_sentences())
    click.echo(f"\n{name}: {in_words(count(verdicts_on_sentences(claims).values()))}")
    if run.folder is None:
        return
    numbers = study.number_sentences()
    for ending, table in (
        ("verdicts.csv", [{"claim": numbers[c.sentence], **c._asdict()} for c in claims]),
        ("inputs.csv", [each._asdict() for each in study.inputs()]),
        ("beyond.csv.gz", [each._asdict() for each in study.beyond()]),
        ("summary.csv", study.summary()),
    ):
        if table:
            write(run.folder / f"{name}_{ending}", table)
    click.echo(f"written to {run.folder}")
    for drawing in study.drawings:
        draw(run.folder / f"{drawing.name}.svg", lambda d=drawing: d.make(d.figures))


def numbers_on_page(name: str) -> dict[tuple[str, str], int]:
    """Return the number of each sentence on the page: also where some machines are left out."""
    kept = sorted(RESULTS.glob(f"*/papers/{name}_verdicts.csv"), key=release_of)
    return {
        (row["place"], split_quotation(row["quotation"])[0]): int(row["claim"])
        for path in kept[-1:]
        for row in read_texts(path)
    }


def conclude_part(
    name: str, study: Study, run: Run, numbers: Sequence[int], figures: Sequence[str]
) -> None:
    """Judge the claims of these numbers and on these figures, and draw the figures.

    Figures are written to the folder of the run, or else to the working directory.
    """
    sentences = numbers_on_page(name) or study.number_sentences()
    chosen = {sentence for sentence, number in sentences.items() if number in numbers}
    for number in numbers:
        if number not in sentences.values():
            raise click.ClickException(
                f"{name} has no claim {number}; its page numbers them from 1 to {len(sentences)}"
            )
    known = {x for place, _ in sentences for x in _figures_of(place)}
    known |= {figure for drawing in study.drawings for figure in drawing.figures}
    for asked in figures:
        if not _shown([asked], known):
            raise click.ClickException(
                f"{name} has no {asked!r}; it has {', '.join(sorted(known))}"
            )
    with asking(
        lambda claim: claim.sentence in chosen or bool(_shown(figures, _figures_of(claim.place)))
    ):
        _print_verdicts([each for each in study.claims() if each.verdict], sentences)
    for drawing in study.drawings:
        shown = _shown(figures, drawing.figures)
        if shown:
            parts = shown if len(drawing.figures) > 1 else []
            file = "_".join([drawing.name, *parts]).replace(" ", "_")
            draw((run.folder or Path()) / f"{file}.svg", lambda d=drawing, s=shown: d.make(s))


def _shown(asked: Iterable[str], figures: Iterable[str]) -> list[str]:
    """Return those of some figures that are asked for: 5 stands for 5(a), too."""
    wanted = {*asked}
    return [each for each in figures if {each, each.partition("(")[0]} & wanted]


def _figures_of(place: str) -> list[str]:
    """Return the figures and tables that a place names.

    >>> _figures_of("section 2.5.2, tables 2.2 and 2.4"), _figures_of("figure 5(a)")
    (['table 2.2', 'table 2.4'], ['5(a)'])
    """
    found = re.search(r"(figure|table)s? (.*)", place)
    if found is None:
        return []
    numbers = re.findall(r"\d+(?:\.\d+)?(?:\([a-z]\))?", found[2])
    return [f"table {each}" if found[1] == "table" else each for each in numbers]


def _print_verdicts(claims: Sequence[Claim], numbers: dict[tuple[str, str], int]) -> None:
    for each in claims:
        number = numbers.get(each.sentence, "new")
        click.echo(f"{number}. {each.place}: {each.quotation}")
        click.echo(f"    {each.where}: {each.number} ({each.instances} instances)")
        click.echo(f"    {each.verdict}: {each.reason}")
