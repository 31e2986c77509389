"""BLAST's format 0, to read: for each query a list of its hits, then their alignments.

Without statistics raw scores stand where there would be bits, and nothing tells of chance.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from swdual.alignment.alignment import Alignment
from swdual.composition.adjust import OPTIMIZED, SCALED
from swdual.composition.adjusted import UNMASKED
from swdual.format import print_bits, print_evalue
from swdual.formats._header import peek
from swdual.hits.hit import Hit
from swdual.hits.query_result import QueryResult
from swdual.io.output import Output, Utf8
from swdual.sequences.frames import frame_length
from swdual.statistics.model import Statistics
from swdual.statistics.table import TableStatistics
from swdual.text.messages import sanitize
from swdual.version import __version__

FIELDS: tuple[str, ...] = ()

REFERENCE = """\
Reference: Temple F. Smith and Michael S. Waterman (1981),
"Identification of common molecular subsequences", J. Mol. Biol.
147:195-197.
"""
COMPOSITION_REFERENCES = (
    (
        (2, 3),
        "Reference for compositional score matrix adjustment: Stephen F. Altschul, John C. "
        "Wootton, E. Michael Gertz, Richa Agarwala, Aleksandr Morgulis, Alejandro A. Schaffer, and "
        'Yi-Kuo Yu (2005) "Protein database searches using compositionally adjusted substitution '
        'matrices", FEBS J. 272:5101-5109.',
    ),
    (
        (1, 2, 3),
        "Reference for composition-based statistics: Alejandro A. Schaffer, L. Aravind, Thomas L. "
        "Madden, Sergei Shavirin, John L. Spouge, Yuri I. Wolf, Eugene V. Koonin, and Stephen F. "
        'Altschul (2001), "Improving the accuracy of PSI-BLAST protein database searches with '
        'composition-based statistics and other refinements", Nucleic Acids Res. 29:2994-3005.',
    ),
)
"""Modes of composition-based statistics, and what is cited in them, in BLAST's words."""
METHODS = {SCALED: "Composition-based stats.", OPTIMIZED: "Compositional matrix adjust."}
"""What BLAST calls the kinds of adjusted matrices."""
LISTED_TITLE = 68
"""Columns of a title in the list of hits, and of a line of the query's title."""
SHOWN_TITLE = 60
"""Characters of a target's title after which its line ends at the next space."""


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries: see `Format.write`. The layout is fixed.

    Nothing is written if there is no query.
    """
    first, results = peek(results)
    if first is None:
        return
    text = Utf8(stream)
    text.write(_preamble(first))
    for result in results:
        text.write(_query(result) + _list(result))
        for hit in result.iter_hits():
            text.write(_hit(hit))
        text.write(_statistics(result.statistics, frame_length(result.query)))
    text.write(_footer(first))


def _preamble(first: QueryResult) -> str:
    targets = first.targets
    references = [
        "\n\n" + "\n".join(textwrap.wrap(text, LISTED_TITLE, break_on_hyphens=False)) + "\n"
        for modes, text in COMPOSITION_REFERENCES
        if first.params.comp_based_stats in modes
    ]
    return (
        f"swdual {__version__}\n\n\n{REFERENCE}{''.join(references)}\n\n\n"
        f"Database: {sanitize(targets.name)}\n"
        f"           {len(targets):,} sequences; {targets.residues:,} total letters\n\n"
    )


def _query(result: QueryResult) -> str:
    title = textwrap.wrap(sanitize(result.query.title), LISTED_TITLE, break_on_hyphens=False)
    head = f"\nResults from round {result.round}\n" if result.round else ""
    return "{}\n\nQuery= {}\n\nLength={}\n".format(
        head, "\n".join(title), result.query.whole_length
    )


def _list(result: QueryResult) -> str:
    """Return the list of hits: titles, scores, E-values."""
    if not len(result):
        return "\n\n***** No hits found *****\n"
    scores = [str(hit.score) if hit.bits is None else print_bits(hit.bits) for hit in result]
    evalues = ["" if hit.evalue is None else _evalue(hit.evalue) for hit in result]
    heads = ("Score     E", "(Bits)  Value") if any(evalues) else ("Score", "(Raw)")
    wide = max(len("(Bits)"), *map(len, scores))
    wider = max(len("Value") * any(evalues), *map(len, evalues))
    lines = [
        f"{'':70}{heads[0]}",
        f"{'Sequences producing significant alignments:':69}{heads[1]}"
        if any(evalues)
        else f"{'Sequences producing significant alignments:':70}{heads[1]}",
        "",
    ]
    for title, score, evalue in zip(result.titles, scores, evalues, strict=True):
        title = sanitize(title)
        if len(title) > LISTED_TITLE:
            title = f"{title[: LISTED_TITLE - 3]}..."
        line = f"{title:{LISTED_TITLE}}  {score:{wide}}"
        lines.append(f"{line}  {evalue:{wider}}" if evalue else line.rstrip())
    return "\n".join(lines) + "\n"


def _evalue(evalue: float) -> str:
    """Return an E-value as BLAST has it here: one digit where its tables have three."""
    return f"{evalue:.0e}" if 1e-180 <= evalue < 0.0009 else print_evalue(evalue)


def _hit(hit: Hit) -> str:
    """Return the title of a hit, and its alignments."""
    head = f"\n\n>{_wrapped(sanitize(hit.title))}\nLength={hit.target_length}\n"
    return head + "\n".join(_alignment(hit, alignment) for alignment in hit.alignments)


def _alignment(hit: Hit, alignment: Alignment) -> str:
    """Return one alignment of a hit, with its numbers."""
    bases = bool(hit.result.params.scheme.matrix.alphabet.complements)
    score, bits, evalue = alignment.score, alignment.bits, alignment.evalue
    worth = f"{score}" if bits is None else f"{print_bits(bits)} bits ({score})"
    chance = "" if evalue is None else f",  Expect = {_evalue(evalue)}"
    kind = int(hit.result.adjustments[hit.place]) & ~UNMASKED
    method = f", Method: {METHODS[kind]}" if kind in METHODS else ""
    counts = [("Identities", alignment.identities), ("Gaps", alignment.gaps)]
    if not bases:
        counts.insert(1, ("Positives", alignment.positives))
    lines = [
        "",
        f" Score = {worth}{chance}{method}",
        " " + ", ".join(f"{name} = {_share(n, alignment.length)}" for name, n in counts),
    ]
    if bases:
        lines.append(f" Strand=Plus/{'Plus' if alignment.strand > 0 else 'Minus'}")
    if hit.result.params.comparison.translates:
        frames = (alignment.query_frame, alignment.target_frame)
        lines.append(f" Frame = {'/'.join(f'{frame:+}' for frame in frames if frame)}")
    if alignment.length:
        lines += ["", str(alignment)]
    return "\n".join(lines) + "\n"


def _wrapped(title: str) -> str:
    """Return a target's title in lines that end at the first space behind each 60 characters."""
    parts = []
    start, whole = 0, SHOWN_TITLE
    while whole < len(title) and (space := title.find(" ", whole)) >= 0:
        parts.append(title[start : space + 1])
        start, whole = space + 1, (space // SHOWN_TITLE + 1) * SHOWN_TITLE
    return "\n".join([*parts, title[start:]])


def _share(count: int, length: int) -> str:
    """Return a count with its percentage: the nearest whole number, but 100 only for all."""
    percent = 100 if count == length else min(99, int(0.5 + 100 * count / length))
    return f"{count}/{length} ({percent if length else 0}%)"


def _statistics(statistics: Statistics | None, query_length: int) -> str:
    """Return what the E-values rest on."""
    if statistics is None:
        return "\n"
    facts = statistics.facts()
    if not isinstance(statistics, TableStatistics):
        return (
            f"\n\n\nE-values from the scores of {facts['fitted']:,} targets "
            f"({facts['trimmed']:,} more left out as related)\n"
            "\nLambda   Intercept  Slope    Deviation\n"
            f"{facts['lambda']:#8.3g} {facts['intercept']:#9.3g} {facts['slope']:#8.3g} "
            f"{facts['deviation']:#8.3g}\n"
        )
    head = "Lambda      K        H"
    row = _numbers(facts[name] for name in ("lambda", "K", "H"))
    if "sigma" in facts:
        head += "        a         alpha    sigma"
        row += _numbers(facts[name] for name in ("alpha", "alpha_v", "sigma"))
    ungapped = _numbers(facts[f"ungapped {name}"] for name in ("lambda", "K", "H"))
    return (
        f"\n\n\nLambda      K        H\n{ungapped}\n"
        f"\nGapped\n{head}\n{row}\n"
        f"\nEffective search space used: {statistics.search_space(query_length)}\n"
    )


def _numbers(values: Iterable[str | int | float]) -> str:
    return "".join(f"{value:#8.3g} " for value in values)


def _footer(first: QueryResult) -> str:
    targets, scheme, composition = first.targets, first.params.scheme, first.params.composition
    method = f"Composition-based statistics: {composition}\n" if composition else ""
    translated = first.params.translation
    translation = f"Translation: {translated}\n" if translated else ""
    return (
        f"\n\n  Database: {sanitize(targets.name)}\n"
        f"  Number of letters in database: {targets.residues:,}\n"
        f"  Number of sequences in database:  {len(targets):,}\n\n\n\n"
        f"Matrix: {sanitize(scheme.matrix.name)}\n"
        f"Gap Penalties: Existence: {scheme.gap_open}, Extension: {scheme.gap_extend}\n"
        f"{method}{translation}"
    )
