"""BLAST's XML (NCBI_BlastOutput.dtd), its format 5.

The program is called blastp, blastn and so on, because readers tell by that name what the sequences
are; the version says swdual. A target's identifier is its own, as with ``makeblastdb
-parse_seqids``. Where that would be no key, because it is missing or a better hit of the query has
the same, the target's place in the database stands for it and its whole header line follows, as
without that option. A value that does not exist, such as an E-value without statistics, is NaN. A
hit with score 0 has no alignment, and so no Hsp. The DTD has no element for composition-based
statistics and translation; comments tell of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from swdual.alignment.alignment import Alignment
from swdual.formats._header import format_number, peek
from swdual.hits.hit import Hit
from swdual.hits.query_result import ORDINAL_PREFIX, QueryResult
from swdual.io.output import Output, Utf8
from swdual.sequences.frames import frame_length
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.table import TableStatistics
from swdual.text.messages import sanitize
from swdual.version import __version__

FIELDS: tuple[str, ...] = ()

REFERENCE = (
    "Temple F. Smith and Michael S. Waterman (1981), "
    '"Identification of common molecular subsequences", J. Mol. Biol. 147:195-197.'
)


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
        text.write(_iteration_head(result))
        for hit, (name, title) in zip(result.iter_hits(), result.name_hits(sanitize), strict=True):
            text.write(_hit(hit, name, title))
        text.write(_iteration_tail(result))
    text.write("</BlastOutput_iterations>\n</BlastOutput>\n")


def _element(name: str, value: object, indent: int) -> str:
    return f"{' ' * indent}<{name}>{escape(sanitize(str(value)))}</{name}>\n"


def _elements(prefix: str, values: dict[str, object], indent: int) -> str:
    return "".join(_element(f"{prefix}_{name}", value, indent) for name, value in values.items())


def _preamble(first: QueryResult) -> str:
    program = {
        "program": first.params.program,
        "version": f"swdual {__version__}",
        "reference": REFERENCE,
        "db": first.targets.name,
        **_query(first),
    }
    composition = first.params.composition
    method = f"      <!-- composition-based statistics: {composition} -->\n" if composition else ""
    translated = first.params.translation
    method += f"      <!-- translation: {translated} -->\n" if translated else ""
    return (
        '<?xml version="1.0"?>\n'
        '<!DOCTYPE BlastOutput PUBLIC "-//NCBI//NCBI BlastOutput/EN" '
        '"http://www.ncbi.nlm.nih.gov/dtd/NCBI_BlastOutput.dtd">\n'
        "<BlastOutput>\n"
        f"{_elements('BlastOutput', program, 2)}"
        "  <BlastOutput_param>\n"
        "    <Parameters>\n"
        f"{_elements('Parameters', _parameters(first), 6)}{method}"
        "    </Parameters>\n"
        "  </BlastOutput_param>\n"
        "<BlastOutput_iterations>\n"
    )


def _query(result: QueryResult) -> dict[str, object]:
    """Return how BLAST names a query: by its number; readers take the real name of the title."""
    return {
        "query-ID": f"Query_{result.number + 1}",
        "query-def": result.query.title,
        "query-len": len(result.query.codes),
    }


def _parameters(result: QueryResult) -> dict[str, object]:
    scheme = result.params.scheme
    expect: dict[str, object] = {"expect": f"{result.params.evalue:g}"}
    return {
        **_matrix(scheme, expect),
        "gap-open": scheme.gap_open,
        "gap-extend": scheme.gap_extend,
        "filter": _filter(result),
    }


def _filter(result: QueryResult) -> str:
    """Return what masked the query, in BLAST's letters."""
    if result.params.mask == "none":
        return "F"
    return "L;m;" if result.params.soft_masking else "L;"


def _matrix(scheme: ScoringScheme, expect: dict[str, object]) -> dict[str, object]:
    """Return the E-value and the matrix in the order of the DTD; bases have reward and penalty."""
    reward, penalty = (int(score) for score in scheme.matrix.scores[0, :2])
    if scheme.matrix.name == f"{reward}/{penalty}":
        return {**expect, "sc-match": reward, "sc-mismatch": penalty}
    return {"matrix": scheme.matrix.name, **expect}


def _iteration_head(result: QueryResult) -> str:
    query = _elements("Iteration", {"iter-num": result.number + 1, **_query(result)}, 2)
    return f"<Iteration>\n{query}<Iteration_hits>\n"


def _iteration_tail(result: QueryResult) -> str:
    message = "" if len(result) else _element("Iteration_message", "No hits found", 2)
    return (
        "</Iteration_hits>\n"
        "  <Iteration_stat>\n"
        "    <Statistics>\n"
        f"{_elements('Statistics', _statistics(result), 6)}"
        "    </Statistics>\n"
        "  </Iteration_stat>\n"
        f"{message}"
        "</Iteration>\n"
    )


def _statistics(result: QueryResult) -> dict[str, object]:
    statistics = result.statistics
    facts = {} if statistics is None else statistics.facts()
    length = frame_length(result.query)
    tabled = statistics if isinstance(statistics, TableStatistics) else None
    return {
        "db-num": len(result.targets),
        "db-len": result.targets.residues,
        "hsp-len": 0 if tabled is None else tabled.adjustment(length),
        "eff-space": "NaN" if tabled is None else tabled.search_space(length),
        "kappa": facts.get("K", "NaN"),
        "lambda": facts.get("lambda", "NaN"),
        "entropy": facts.get("H", "NaN"),
    }


def _hit(hit: Hit, name: str, title: str) -> str:
    values = {
        "num": hit.rank,
        "id": name,
        "def": title,
        "accession": name.removeprefix(ORDINAL_PREFIX),
        "len": hit.target_length,
    }
    bases = bool(hit.result.targets.alphabet.complements)
    hsps = "".join(_hsp(each, k, bases) for k, each in enumerate(hit.alignments, start=1))
    return f"<Hit>\n{_elements('Hit', values, 2)}  <Hit_hsps>\n{hsps}  </Hit_hsps>\n</Hit>\n"


def _hsp(alignment: Alignment, number: int, bases: bool) -> str:
    """Return an alignment, with its number among those of the hit."""
    if not alignment.length:
        return ""
    query, middle, target = alignment.rows
    places = alignment.target_start + 1, alignment.target_end
    frames = alignment.query_frame, alignment.target_frame
    if not alignment.translates:  # else places rise, whatever the frame
        frames = int(bases), int(bases) * alignment.strand
        places = places if alignment.strand > 0 else places[::-1]
    values: dict[str, object] = {
        "num": number,
        "bit-score": format_number(alignment.bits),
        "score": alignment.score,
        "evalue": format_number(alignment.evalue),
        "query-from": alignment.query_start + 1,
        "query-to": alignment.query_end,
        "hit-from": places[0],
        "hit-to": places[1],
        "query-frame": frames[0],
        "hit-frame": frames[1],
        "identity": alignment.identities,
        "positive": alignment.positives,
        "gaps": alignment.gaps,
        "align-len": alignment.length,
        "qseq": query,
        "hseq": target,
        "midline": middle,
    }
    return f"    <Hsp>\n{_elements('Hsp', values, 6)}    </Hsp>\n"
