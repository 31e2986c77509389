"""BLAST's XML: valid, and read back by Biopython's two readers as what was found."""

from __future__ import annotations

import io
import math
import re
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from Bio import BiopythonParserWarning, Blast, Entrez, SearchIO
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.api import search
from swdual.formats import xml
from swdual.io.output import Output
from swdual.text.messages import sanitize
from swdual.version import __version__

HOSTILE = "<b>&amp;</b> ]]> \"'\x00 \x1b[31m\x0b\x9b2J \ufffe \u202e tab\there é漢\U0001f9ec"
SHOWN = "<b>&amp;</b> ]]> \"'? ?[31m??2J ? ? tab here é漢\U0001f9ec"

QUERIES = {"q1 one": "MKVLAWGGHERMKVUXOAW", "none": "P", "q3 three of three": "ACDEFGHIKLMN"}
TARGETS = {
    "t1 first target": "PPMKVLAWGGHERMKVLUXOAWPP",
    "sp|T2|T2": "ACDEFGHKLMNACDEFGHIKLMN",
    "t3  two spaces": "AAWGGHEWWWRMKVUXAW",
}
GENE = "ACGTTGCAAGGCTTAACCGGATATCGCGATTAGGCCTTAA"
OTHER_STRAND = GENE[::-1].translate(str.maketrans("ACGT", "TGCA"))
BASES = {"plus": "TT" + GENE + "CCC", "minus": "A" + OTHER_STRAND[:20] + "G" + OTHER_STRAND[20:]}


def written(results):
    stream = io.BytesIO()
    xml.write(results, Output(stream, "memory"), xml.FIELDS, header=False)
    return stream.getvalue()


def read(text):
    return list(SearchIO.parse(io.StringIO(text.decode()), "blast-xml"))


@pytest.fixture(scope="module")
def proteins():
    return search(QUERIES, TARGETS, evalue=1e6)


@pytest.fixture(scope="module")
def bases():
    return search({"gene a gene": GENE}, BASES, dbtype="nucl")


def content_models():
    """Return what the DTD lets each element hold, as a pattern of children's names."""
    folder = Path(Entrez.__file__).parent / "DTDs"
    text = (folder / "NCBI_BlastOutput.mod.dtd").read_text()
    models = {}
    for name, model in re.findall(r"<!ELEMENT\s+(\S+)\s+\((.*?)\)>", text, re.DOTALL):
        children = [] if "#PCDATA" in model or "%" in model else re.split(r",\s*", model.strip())
        models[name] = "".join(re.sub(r"^([\w-]+)([?*]?)$", r"(?:\1 )\2", c) for c in children)
    return models


@pytest.mark.parametrize("stats", ["table", "none"])
@pytest.mark.parametrize("dbtype", ["prot", "nucl"])
def test_xml_is_valid_against_the_document_type(stats, dbtype):
    """Every element has the children that NCBI's DTD says, in its order."""
    queries, targets = (QUERIES, TARGETS) if dbtype == "prot" else ({"gene": GENE}, BASES)
    text = written(search(queries, targets, dbtype=dbtype, stats=stats))
    models = content_models()
    elements = list(ElementTree.fromstring(text).iter())
    assert len(elements) > 50
    for element in elements:
        children = "".join(f"{child.tag} " for child in element)
        assert re.fullmatch(models[element.tag], children), element.tag


def check_against_searchio(results):
    """Compare all that SearchIO read with what the hits say."""
    found = read(written(results))
    assert [each.id for each in found] == [result.query.id for result in results]
    for each, result in zip(found, results, strict=True):
        assert each.seq_len == len(result.query.codes)
        assert [hit.id for hit in each] == [hit.id for hit in result]
        for theirs, hit in zip(each, result, strict=True):
            alignment = hit.alignment
            assert theirs.seq_len == hit.target_length
            (pair,) = theirs
            query, middle, target = alignment.rows
            assert (str(pair.query.seq), str(pair.hit.seq)) == (query, target)
            assert pair.aln_annotation["similarity"] == middle
            assert pair.query_range == (alignment.query_start, alignment.query_end)
            assert pair.hit_range == (alignment.target_start, alignment.target_end)
            assert (pair.bitscore_raw, pair.ident_num) == (hit.score, alignment.identities)
            assert (pair.pos_num, pair.gap_num) == (alignment.positives, alignment.gaps)
            assert pair.aln_span == alignment.length
            assert pair.evalue == pytest.approx(hit.evalue, rel=1e-5)
            assert pair.bitscore == pytest.approx(hit.bits, rel=1e-5)
            assert pair.hit_strand == (hit.strand if each.program == "blastn" else 0)
    return found


def test_searchio_reads_what_was_found(proteins):
    """Identifiers, titles, coordinates, rows and numbers of proteins, U, X and O included."""
    found = check_against_searchio(proteins)
    assert [len(each) for each in found] == [len(result) for result in proteins]
    assert found[0].description == "one"
    assert [hit.description for hit in found[0]][:1] == ["first target"]
    assert found[0].version == __version__
    assert {"U", "X", "O"} < set(str(found[0][0][0].query.seq))


def test_searchio_reads_the_other_strand(bases):
    """A hit of the other strand has its places on the target as given, and strand -1."""
    found = check_against_searchio(bases)
    assert sorted(hit[0].hit_strand for hit in found[0]) == [-1, 1]
    assert "<Hsp_hit-frame>-1</Hsp_hit-frame>" in written(bases).decode()


def test_bio_blast_reads_the_same_coordinates(proteins, bases):
    """Bio.Blast's alignments have the coordinates of our own."""
    for results in (proteins, bases):
        records = Blast.parse(io.BytesIO(written(results)))
        for record, result in zip(records, results, strict=True):
            assert record.query.description == result.query.title
            for theirs, hit in zip(record, result, strict=True):
                ours = hit.to_biopython().coordinates
                expected = ours if hit.strand > 0 else ours[:, ::-1]
                assert np.array_equal(theirs[0].coordinates, expected)
                assert theirs.target.id == hit.id
                assert theirs[0].score == hit.score


def test_the_statistics_are_those_of_the_search(proteins):
    """Size of the database, length adjustment, search space and parameters, for each query."""
    statistics = proteins[0].statistics
    for each, result in zip(read(written(proteins)), proteins, strict=True):
        length = len(result.query.codes)
        assert (each.stat_db_num, each.stat_db_len) == (3, sum(map(len, TARGETS.values())))
        assert each.stat_hsp_len == statistics.adjustment(length)
        assert each.stat_eff_space == statistics.search_space(length)
        parameters = (each.stat_kappa, each.stat_lambda, each.stat_entropy)
        assert parameters == (0.041, 0.267, 0.14)
        assert (each.param_matrix, each.param_gap_open, each.param_gap_extend) == (
            "BLOSUM62",
            11,
            1,
        )
        assert each.param_evalue_threshold == 1e6


def test_bases_have_reward_and_penalty_and_other_matrices_a_name(bases, tmp_path):
    """blastn's parameters for the uniform scores; the file's name for others."""
    (found,) = read(written(bases))
    assert (found.param_score_match, found.param_score_mismatch) == (2, -3)
    path = tmp_path / "own"
    path.write_text("  A C G T\nA 5 -4 -4 -4\nC -4 5 -4 -4\nG -4 -4 5 -4\nT -4 -4 -4 5\n")
    text = written(search({"g": GENE}, BASES, dbtype="nucl", matrix=path, stats="none")).decode()
    assert f"<Parameters_matrix>{path}</Parameters_matrix>" in text
    assert "sc-match" not in text


def test_a_query_without_hits_is_an_iteration_without_hits():
    """It says so, and has its statistics."""
    text = written(search({"none": "P", "other": "MKV"}, {"t": "GGWW"}))
    assert [len(each) for each in read(text)] == [0, 0]
    assert text.count(b"<Iteration_message>No hits found</Iteration_message>") == 2
    assert text.count(b"<Statistics_eff-space>") == 2


def test_without_queries_nothing_is_written():
    """There is no search that a preamble could tell of."""
    assert written([]) == b""


def test_missing_statistics_are_nan():
    """A zero would be the best E-value there is."""
    (found,) = read(written(search({"q": "MKVLAW"}, {"t": "MKVLAW"}, stats="none")))
    assert math.isnan(found[0][0].evalue)
    assert math.isnan(found[0][0].bitscore)
    assert math.isnan(found.stat_kappa)
    assert found.stat_db_num == 1


def test_fitted_statistics_have_a_lambda_only():
    """The fit knows neither K nor H, nor a search space."""
    targets = {f"t{k}": ("ACDEFGHIKLMNPQRSTVWY" * 3)[k % 19 : k % 19 + 30 + k] for k in range(30)}
    (found,) = read(written(search({"q": "MKVLAWGGHERMKV"}, targets, stats="fit", evalue=1e6)))
    assert found.stat_lambda > 0
    assert math.isnan(found.stat_entropy)
    assert math.isnan(found.stat_eff_space)


def test_hostile_titles_are_escaped():
    """What XML forbids becomes '?', markup becomes text, and the rest is as it was."""
    text = written(search({f"q1 {HOSTILE}": "MKVLAW"}, {f"t1 {HOSTILE}": "MKVLAW"}))
    assert not set(text) & set(range(32)) - {10}
    (found,) = read(text)
    assert (found.description, found[0].description) == (SHOWN, SHOWN)
    assert next(iter(Blast.parse(io.BytesIO(text)))).query.description == f"q1 {SHOWN}"


def test_half_a_surrogate_pair_is_no_character():
    """XML forbids it; it becomes '?' like the control characters."""
    assert sanitize("a\ud800b\uffff") == "a?b?"


def test_hits_that_share_an_identifier_stay_apart():
    """The second of one name goes by its place in the database, as BLAST's own XML has it."""
    targets = [("same one", "MKVLAWGG"), ("other", "MKVLAW"), ("same two", "MKVLAW")]
    text = written(search({"q": "MKVLAWGG"}, targets, evalue=1e6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiopythonParserWarning)
        (found,) = read(text)
    assert [hit.id for hit in found] == ["same", "other", "gnl|BL_ORD_ID|2"]
    assert found[2].description == "same two"
    assert b"<Hit_accession>2</Hit_accession>" in text


def test_a_name_like_blasts_own_is_still_read_as_it_is():
    """Readers take the name of such a target from its title."""
    (found,) = read(written(search({"lcl|q": "MKVLAW"}, {"gnl|BL_ORD_ID|7 x": "MKVLAW"})))
    assert (found.id, found[0].id, found[0].description) == ("lcl|q", "gnl|BL_ORD_ID|7", "x")


def test_an_empty_alignment_is_a_hit_without_a_pair():
    """A score of 0 aligns nothing."""
    results = search({"q": "W"}, {"t": "A"}, min_raw_score=0, stats="none")
    assert (len(results[0]), results[0][0].score) == (1, 0)
    text = written(results)
    assert b"<Hit_id>t</Hit_id>" in text
    assert b"<Hsp>" not in text
    assert len(read(text)) == 1


def test_results_are_written_one_by_one(proteins):
    """What was found is written before the next but one result is asked for."""
    stream = io.BytesIO()

    def iter_hits():
        for number, result in enumerate(proteins):
            assert stream.getvalue().count(b"</Iteration>") >= number - 1
            yield result
            if number:
                assert b"<Iteration_iter-num>1<" in stream.getvalue()

    xml.write(iter_hits(), Output(stream, "memory"), xml.FIELDS, header=True)
    assert stream.getvalue() == written(proteins)


def test_pairs_and_statistics_are_what_blast_writes():
    """Byte for byte what blastn 2.12 wrote for these sequences.

    ``blastn -task blastn -query q.fasta -subject t.fasta -dust no -soft_masking false -word_size 7
    -max_hsps 1 -outfmt 5``
    """
    text = written(search({"q": GENE}, {"t": BASES["minus"]}, dbtype="nucl")).decode()
    assert text[text.index("    <Hsp>") :] == GOLDEN_END
    assert text[text.index("  <BlastOutput_param>") : text.index("<Hit>")] == GOLDEN_MIDDLE


GOLDEN_MIDDLE = """\
  <BlastOutput_param>
    <Parameters>
      <Parameters_expect>10</Parameters_expect>
      <Parameters_sc-match>2</Parameters_sc-match>
      <Parameters_sc-mismatch>-3</Parameters_sc-mismatch>
      <Parameters_gap-open>5</Parameters_gap-open>
      <Parameters_gap-extend>2</Parameters_gap-extend>
      <Parameters_filter>F</Parameters_filter>
    </Parameters>
  </BlastOutput_param>
<BlastOutput_iterations>
<Iteration>
  <Iteration_iter-num>1</Iteration_iter-num>
  <Iteration_query-ID>Query_1</Iteration_query-ID>
  <Iteration_query-def>q</Iteration_query-def>
  <Iteration_query-len>40</Iteration_query-len>
<Iteration_hits>
"""

GOLDEN_END = """\
    <Hsp>
      <Hsp_num>1</Hsp_num>
      <Hsp_bit-score>67.1093</Hsp_bit-score>
      <Hsp_score>73</Hsp_score>
      <Hsp_evalue>1.51985e-17</Hsp_evalue>
      <Hsp_query-from>1</Hsp_query-from>
      <Hsp_query-to>40</Hsp_query-to>
      <Hsp_hit-from>42</Hsp_hit-from>
      <Hsp_hit-to>2</Hsp_hit-to>
      <Hsp_query-frame>1</Hsp_query-frame>
      <Hsp_hit-frame>-1</Hsp_hit-frame>
      <Hsp_identity>40</Hsp_identity>
      <Hsp_positive>40</Hsp_positive>
      <Hsp_gaps>1</Hsp_gaps>
      <Hsp_align-len>41</Hsp_align-len>
      <Hsp_qseq>ACGTTGCAAGGCTTAACCGG-ATATCGCGATTAGGCCTTAA</Hsp_qseq>
      <Hsp_hseq>ACGTTGCAAGGCTTAACCGGCATATCGCGATTAGGCCTTAA</Hsp_hseq>
      <Hsp_midline>|||||||||||||||||||| ||||||||||||||||||||</Hsp_midline>
    </Hsp>
  </Hit_hsps>
</Hit>
</Iteration_hits>
  <Iteration_stat>
    <Statistics>
      <Statistics_db-num>1</Statistics_db-num>
      <Statistics_db-len>42</Statistics_db-len>
      <Statistics_hsp-len>5</Statistics_hsp-len>
      <Statistics_eff-space>1295</Statistics_eff-space>
      <Statistics_kappa>0.41</Statistics_kappa>
      <Statistics_lambda>0.625</Statistics_lambda>
      <Statistics_entropy>0.78</Statistics_entropy>
    </Statistics>
  </Iteration_stat>
</Iteration>
</BlastOutput_iterations>
</BlastOutput>
"""

letters = st.text("ARNDCQEGHILKMFPSTWYVBZXUO*", min_size=1, max_size=60)
names = st.from_regex(r"[A-Za-z0-9|_.<&>;:#'\"-]{1,12}", fullmatch=True)


@examples(40)
@given(
    st.dictionaries(names, letters, min_size=1, max_size=3),
    st.dictionaries(names, letters, min_size=1, max_size=6),
)
def test_random_searches_survive_the_way_through_searchio(queries, targets):
    """Whatever was found, SearchIO reads the same coordinates, sequences and numbers."""
    results = search(queries, targets, evalue=math.inf, dbtype="prot", threads=1)
    found = read(written(results))
    assert len(found) == len(results)
    check_against_searchio(results)


@examples(40)
@given(st.text("ACGTN", min_size=1, max_size=60), st.text("ACGTR", min_size=1, max_size=60))
def test_random_bases_survive_the_way_through_searchio(query, target):
    """On both strands."""
    results = search(
        {"q": query}, {"t": target}, evalue=math.inf, dbtype="nucl", threads=1, stats="table"
    )
    check_against_searchio(results)


def test_a_comment_names_the_mode_of_composition_based_statistics():
    """The rest has what it has without: the statistics are those of the scoring scheme."""
    plain = written(search(QUERIES, TARGETS, comp_based_stats=0)).decode()
    text = written(search(QUERIES, TARGETS, comp_based_stats=1)).decode()
    comment = "      <!-- composition-based statistics: mode 1, candidates adjusted -->\n"
    assert text.count(comment) == text.count("<!--") == 1
    assert "<!--" not in plain
    for name in ("kappa", "lambda", "entropy", "eff-space", "hsp-len"):
        pattern = f"<Statistics_{name}>(.*)</"
        assert re.findall(pattern, text) == re.findall(pattern, plain) != []
    assert len(read(text.encode())) == len(QUERIES)
