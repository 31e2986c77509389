"""Frames in the formats that have a place for them, and the refusal of the others."""

from __future__ import annotations

import pickle
from xml.etree import ElementTree

import pytest
from support.genes import random_genes, random_proteins

from swdual.api import search
from swdual.errors import InputError
from swdual.profiles import Profile

PROTEINS = random_proteins(1, 12)
GENES = random_genes(2, PROTEINS)


@pytest.fixture(scope="module", params=["blastx", "tblastn", "tblastx"])
def results(request):
    task = request.param
    queries = PROTEINS if task == "tblastn" else dict([*GENES.items()][:5])
    targets = PROTEINS if task == "blastx" else GENES
    dbtype = "prot" if task == "blastx" else "nucl"
    return search(queries, targets, task=task, dbtype=dbtype, evalue=1.0, mask="seg")


def written(results, folder, name, outfmt=None):
    results.write(folder / name, outfmt)
    return (folder / name).read_text()


def hits_of(results):
    return [hit for result in results for hit in result]


def test_pairwise_prints_frames_and_places_of_codons(results, tmp_path):
    """As BLAST: a line of 60 residues is 180 bases."""
    text = written(results, tmp_path, "hits.aln")
    frames = [line.partition(" = ")[2] for line in text.splitlines() if "Frame = " in line]
    assert frames == [
        "/".join(f"{x:+}" for x in (hit.query_frame, hit.target_frame) if x)
        for hit in hits_of(results)
    ]
    sums = "without" if next(iter(results)).params.program == "tblastx" else "with"
    assert f"E-values {sums} sum statistics" in text
    for hit in hits_of(results):
        for first, last, row, _, other, start, end in hit.alignment.lines():
            for a, b, letters, frame in (
                (first, last, row, hit.query_frame),
                (start, end, other, hit.target_frame),
            ):
                bases = (3 if frame else 1) * (len(letters) - letters.count("-"))
                assert abs(b - a) + 1 == bases
                assert (b > a) == (frame >= 0) or bases == 1
        lines = [*hit.alignment.lines()]
        places = sorted((lines[0][0], lines[-1][1]))
        assert places == [hit.query_start + 1, hit.query_end]


def test_pairwise_prints_the_frame_of_each_alignment(tmp_path):
    """Alignments of a target besides the best have frames of their own."""
    gene = next(iter(GENES.values()))
    target = f"{gene}A{gene.translate(str.maketrans('ACGT', 'TGCA'))[::-1]}"
    results = search({"q": gene}, {"t": target}, task="tblastx", max_hsps=0, evalue=1e-3)
    (hit,) = results[0]
    alignments = hit.alignments
    assert len({each.target_frame for each in alignments}) > 1
    text = written(results, tmp_path, "hits.aln")
    frames = [line.partition(" = ")[2] for line in text.splitlines() if "Frame = " in line]
    assert frames == [f"{each.query_frame:+}/{each.target_frame:+}" for each in alignments]


def test_tables_tell_starts_behind_ends_on_minus_frames(results, tmp_path):
    text = written(
        results, tmp_path, "hits.tsv", "6 qframe sframe frames qstart qend sstart send qseq"
    )
    rows = [line.split("\t") for line in text.splitlines()]
    assert {row[0][0] == "-" for row in rows} | {row[1][0] == "-" for row in rows} == {True, False}
    for row, hit in zip(rows, hits_of(results), strict=True):
        qframe, sframe, qstart, qend, sstart, send = (int(row[k]) for k in (0, 1, 3, 4, 5, 6))
        assert (qframe, sframe) == (hit.query_frame, hit.target_frame)
        assert row[2] == f"{qframe}/{sframe}"
        assert (qstart > qend) == (qframe < 0)
        assert (sstart > send) == (sframe < 0)


def test_comments_name_program_and_genetic_codes(results, tmp_path):
    text = written(results, tmp_path, "hits.tsv", "7 std")
    program = results[0].params.program
    assert f"# {program.upper()} swdual" in text
    assert f"# Translation: {results[0].params.translation}" in text


def test_xml_has_frames_and_rising_places(results, tmp_path):
    root = ElementTree.fromstring(written(results, tmp_path, "hits.xml").split("\n", 2)[2])
    assert root.findtext("BlastOutput_program") == results[0].params.program
    found = [
        [int(hsp.findtext(f"Hsp_{name}")) for name in ("query-frame", "hit-frame")]
        for hsp in root.iter("Hsp")
    ]
    assert found == [[hit.query_frame, hit.target_frame] for hit in hits_of(results)]
    for hsp in root.iter("Hsp"):
        for side in ("query", "hit"):
            assert int(hsp.findtext(f"Hsp_{side}-from")) < int(hsp.findtext(f"Hsp_{side}-to"))


@pytest.mark.parametrize("name", ["sam", "paf"])
def test_formats_of_one_alphabet_refuse_frames(results, tmp_path, name):
    with pytest.raises(InputError, match=f"{name} has no place for alignments of translated"):
        results.write(tmp_path / f"hits.{name}")


def test_profiles_are_made_of_proteins(results):
    with pytest.raises(InputError, match="not of translated nucleotides"):
        Profile.from_hits(results[0])


def test_biopython_gets_the_proteins_of_frames(results):
    pytest.importorskip("Bio", reason="the objects are Biopython's")
    for hit in hits_of(results):
        query, _, target = hit.alignment.rows
        found = hit.to_biopython()
        assert [str(found[1]).upper(), str(found[0]).upper()] == [query.upper(), target.upper()]
    for result in results:
        for ours, theirs in zip(result, result.to_searchio(), strict=True):
            fragment = theirs[0][0]
            assert (fragment.query_start, fragment.query_end) == (ours.query_start, ours.query_end)
            assert (fragment.query_frame, fragment.hit_frame) == (
                ours.query_frame,
                ours.target_frame,
            )


def test_results_survive_pickling(results):

    again = pickle.loads(pickle.dumps(results))
    for one, two in zip(hits_of(again), hits_of(results), strict=True):
        assert one.alignment == two.alignment
        assert one.alignment.rows == two.alignment.rows
