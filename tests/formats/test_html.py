"""A report without a browser: its policy, its data, its size, its text without the script."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import pickle
import re
from html.parser import HTMLParser

import pytest
from support.taxa import TWO_SPECIES, write_dump

from swdual.api import search
from swdual.cli.allpairs import command as allpairs_command
from swdual.cli.search import command as search_command
from swdual.database.makedb import makedb
from swdual.errors import InputError
from swdual.format import REPORT_ALIGNMENTS, Table
from swdual.formats import html as report
from swdual.formats._report_table import group_rows
from swdual.io.output import Output
from swdual.results.conversion import convert

QUERY = "MKVLAWGGHERMKVLAWDEF"
MAX_EMPTY_BYTES = 150_000


class Page(HTMLParser):
    """The elements of a page: tags with attributes, and the texts of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.raw, self._inside = [], [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = (tag, dict(attrs))
            self.raw.append([*self._inside, ""])

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._inside = None

    def handle_data(self, data):
        if self._inside:
            self.raw[-1][2] += data

    def block(self, name):
        """Return the data of a name."""
        for _, attributes, text in self.raw:
            if attributes.get("id") == f"data-{name}":
                if attributes["type"] == "application/gzip":
                    text = gzip.decompress(base64.b64decode(text)).decode()
                return json.loads(text)
        raise AssertionError(f"there is no block {name}")


def written(results, **attributes):
    stream = io.BytesIO()
    for name, value in attributes.items():
        setattr(results, name, value)
    report.write(results, Output(stream, "memory"), (), header=False)
    return stream.getvalue().decode()


@pytest.fixture(scope="module")
def results():
    queries = {"q1 one": QUERY, "q2 two": "WWWWWW", "q3": QUERY[::-1]}
    targets = {f"t{k} number {k}": QUERY[k:] + "A" * k for k in range(12)}
    return search(queries, targets, evalue=1e6)


def test_the_policy_allows_the_script_and_the_styles_of_the_page_and_nothing_else(results):
    """Their digests, as browsers compute them; no inline script besides, and no address."""
    page = Page(written(results))
    (policy,) = (
        attributes["content"]
        for tag, attributes in page.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data: blob:"

    def digest(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    (style,) = (text for tag, _, text in page.raw if tag == "style")
    (script,) = (text for _, attributes, text in page.raw if attributes.get("type") == "module")
    assert rules["style-src"] == digest(style)
    assert rules["script-src"] == digest(script)
    kinds = {attributes.get("type") for tag, attributes, _ in page.raw if tag == "script"}
    assert kinds == {"module", "application/json"}
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert not {*attributes} & {"src", "href", "style"}, tag
        assert not any(name.startswith("on") for name in attributes)


def test_the_data_are_the_hits(results):
    """Scores, places, E-values and operations, with all digits; letters of the aligned parts."""
    page = Page(written(results))
    assert page.block("search")["queries"] == {
        "id": ["q1", "q2", "q3"],
        "title": ["q1 one", "q2 two", "q3"],
        "length": [20, 6, 20],
        "hits": [len(result) for result in results],
        "best": [float(r.evalues[0]) if len(r) else None for r in results],
        "round": [0, 0, 0],
    }
    for number, result in enumerate(results):
        block = page.block(f"query-{number}")
        assert block["query"] == result.query.letters
        columns = block["columns"]
        assert columns["title"] == result.titles
        assert columns["evalue"] == result.evalues.tolist()
        assert columns["bits"] == result.bits.tolist()
        for ours, theirs in (("qstart", "query_starts"), ("send", "target_ends")):
            assert columns[ours] == result.tracebacks.column(theirs).tolist()
        for cigar, letters, hit in zip(*block["letters"].values(), result, strict=True):
            assert cigar == hit.alignment.cigar
            assert letters == hit.alignment.rows[2].replace("-", "")


@pytest.mark.parametrize("most", [1, 2, 5, 7, 100])
def test_the_text_without_the_script_has_the_best_hits_of_each_query(monkeypatch, results, most):
    """First the best of each query, then the second, until there are enough."""
    monkeypatch.setattr(report, "STATIC_HITS", most)
    text = written(results)
    body = text[text.index("<tbody>") : text.index("</tbody>")]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body.split("<tr>")[1:]]
    counts = [len(result) for result in results]
    ranked = sorted((rank, q) for q, count in enumerate(counts) for rank in range(count))[:most]
    expected = sorted((q, rank) for rank, q in ranked)
    assert [(row[0], row[1]) for row in rows] == [(f"q{q + 1}", str(k + 1)) for q, k in expected]
    best = results[0][0]
    assert rows[0][2:5] == [best.id, "number 0", str(best.score)]
    assert f"The best hits, {min(most, sum(counts))} of {sum(counts)}" in text


def test_a_report_is_small(results):
    """What every report has takes less than 150 kB."""
    assert len(written(search({"q": "W"}, {"t": "A"}))) < MAX_EMPTY_BYTES
    assert len(written([])) < MAX_EMPTY_BYTES


def test_many_data_are_compressed(monkeypatch, results):
    """Those of all queries, also of those that came before the limit was passed."""
    plain = Page(written(results))
    monkeypatch.setattr("swdual.report.page.MAX_PLAIN_BYTES", 2000)
    packed = Page(written(results))
    kinds = [a.get("type") for tag, a, _ in packed.raw if tag == "script"]
    assert kinds == ["application/gzip"] * 4 + ["module"]
    for name in ("query-0", "query-1", "query-2", "search"):
        assert packed.block(name) == plain.block(name)


def test_names_are_text_wherever_they_stand():
    """Markup in names of queries, targets and the database becomes no element."""
    evil = "</script><img src=x onerror=alert(1)><!--"
    results = search({f"{evil} q": QUERY}, {f"{evil} t": QUERY})
    page = Page(written(results, command=f"swdual {evil}"))
    tags = {tag for tag, _ in page.tags}
    assert "img" not in tags
    assert sum(tag == "script" for tag, _ in page.tags) == 3
    assert page.block("query-0")["columns"]["title"] == [f"{evil} t"]


def test_the_alignments_of_the_best_hits_are_told(results):
    """As many as `report_alignments` says; by default 500 hits of a query."""
    assert REPORT_ALIGNMENTS == 500
    for limit in (0, 1, 5, 100):
        block = Page(results.report(alignments=limit).html).block("query-0")
        assert len(block["letters"]["cigar"]) == min(limit, len(results[0]))
        assert len(block["columns"]["rank"]) == len(results[0])
    with pytest.raises(InputError, match="`alignments` is -1, but it must be at least 0"):
        results.report(alignments=-1)
    with pytest.raises(InputError, match="`alignments` is 'x', but it must be a number"):
        results.report(alignments="x")


def test_several_alignments_of_a_hit_count_once():
    """The limit is one of hits, not of alignments."""
    target = QUERY + "GGGGGG" + QUERY
    results = search({"q": QUERY}, {"a": target, "b": target}, max_hsps=2, evalue=1e6)
    block = Page(results.report(alignments=1).html).block("query-0")
    assert block["columns"]["rank"] == [1, 1, 2, 2]
    assert len(block["letters"]["cigar"]) == 2


def test_the_report_tells_what_is_known_of_the_run(run, here):
    """The command line, the database and its digest, time and workers, and bars of both."""
    outcome = run("search", "q.fa", "t.fa", "-o", "x.html", "-e", "1e3", "--threads", "2")
    assert outcome.code == 0
    text = (here / "x.html").read_text()
    facts = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    assert facts["Command"] == "swdual search q.fa t.fa -o x.html -e 1e3 --threads 2"
    assert facts["Database"] == "t.fa: 3 sequences, 43 residues"
    assert re.fullmatch("[0-9a-f]{32}", facts["Database digest"])
    assert facts["Queries"] == "2 sequences, 40 residues"
    assert facts["Workers"] == "cpu 0, cpu 1"
    assert facts["Filters"] == "E-value at most 1000, at most 500 hits of a query"
    assert "GCUPS" in facts["Time"]
    assert 'aria-label="Gantt chart"' in text


def test_the_report_names_every_filter(run, here):
    """In words, each with its number."""
    limits = {"--top": 50, "--min-raw-score": 2, "--min-score": 1.5, "--min-identity": 10}
    covers = {"--min-query-cover": 20, "--min-target-cover": 30}
    options = [str(x) for pair in (limits | covers).items() for x in pair]
    assert run("search", "q.fa", "t.fa", "-o", "x.html", "-e", "9", *options).code == 0
    facts = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", (here / "x.html").read_text()))
    assert facts["Filters"] == (
        "E-value at most 9, raw score at most 50 % below the best, raw score at least 2, "
        "bit score at least 1.5, identity in % at least 10, query cover in % at least 20, "
        "target cover in % at least 30"
    )


def test_the_digest_of_the_database_is_that_of_its_content(here):
    """However its path is written, as FASTA or as a database with a mask; another title differs."""
    makedb("t.fa", "t.db", mask="seg").close()
    (here / "other.fa").write_text((here / "t.fa").read_text().replace(">", ">x", 1))

    def digest(targets):
        text = written(search({"q": QUERY}, targets))
        return dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", text))["Database digest"]

    assert digest("t.fa") == digest(str(here / "t.fa")) == digest("t.db")
    assert digest("t.fa") != digest("other.fa")


def test_the_report_of_a_selection_says_so(results):
    """How many of the hits it has; the filters of the search are another matter."""
    assert "<dt>Selection" not in results.report().html
    kept = results.filter(evalue=1e-3).top(2)
    page = kept.report().html
    facts = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    part = f"{len(kept.scores)} of the {len(results.scores)} hits of the search"
    assert 0 < len(kept.scores) < len(results.scores)
    assert facts["Selection"] == part
    assert facts["Filters"] == "E-value at most 1e+06, at most 500 hits of a query"
    assert Page(page).block("search")["filters"] == f"{facts['Filters']}; this report has {part}"


def test_a_list_of_results_tells_of_no_run(results):
    """Whoever writes it knows neither a command nor the time."""
    facts = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", written(list(results))))
    assert not {*facts} & {"Command", "Time", "Workers"}
    assert facts["Database"].endswith("12 sequences, 240 residues")


def test_results_that_were_pickled_give_the_same_report(results):
    """Their targets are stored, and the digest of the database with them."""
    again = pickle.loads(pickle.dumps(list(results)))
    assert written(again) == written(list(results))


def test_the_number_of_alignments_is_an_option(run, here):
    run("search", "q.fa", "t.fa", "-o", "x.html", "-e", "1e9", "--report-alignments", "1")
    block = Page((here / "x.html").read_text()).block("query-0")
    assert len(block["letters"]["cigar"]) == 1 < len(block["columns"]["rank"])


@pytest.mark.parametrize("command", [search_command, allpairs_command])
def test_the_option_has_the_default_of_python(command):
    (option,) = (each for each in command.params if each.name == "report_alignments")
    assert option.default == REPORT_ALIGNMENTS


def test_a_notebook_shows_the_report_in_a_frame(results):
    """The page as it would be in a file, apart from what is around it."""
    shown = results.report(height=300)
    assert repr(shown) == f"<Report: {len(shown.html):,} characters of HTML>"
    markup = shown._repr_html_()
    (frame,) = (attributes for tag, attributes in Page(markup).tags if tag == "iframe")
    assert frame["srcdoc"] == shown.html
    assert frame["height"] == "300"
    assert frame["sandbox"] == "allow-scripts allow-downloads allow-popups"


def test_organisms_are_a_column(tmp_path):
    """Names where a taxonomy is known, else ids; also of tables that others wrote."""
    targets = {"t1 OX=9606": QUERY, "t2 OX=562": QUERY, "t3": QUERY}
    dump = write_dump(TWO_SPECIES, tmp_path / "dump")
    for taxonomy, expected in (
        (dump, ["Homo sapiens", "Escherichia coli", "N/A"]),
        (None, ["9606", "562", "0"]),
    ):
        found = search({"q": QUERY}, targets, taxonomy=taxonomy, taxids=None)
        columns = Page(written(found)).block("query-0")["columns"]
        assert columns["organism"] == expected
    assert "organism" not in Page(written(search(QUERY, {"t": QUERY}))).block("query-0")["columns"]
    chosen = search({"q": QUERY}, targets, taxonomy=dump, taxids=[2])
    assert "of 2; E-values of these targets" in written(chosen)
    (group,) = group_rows(rows_of("qseqid sseqid staxids ssciname", ("q", "t", "9606", "Homo")), 5)
    assert group.data["columns"]["organism"] == ["Homo"]


def test_rounds_of_a_search_are_queries_of_the_report(run, here):
    """An iterated search writes a result of each round."""
    outcome = run("iterate", "q.fa", "t.fa", "-o", "x.html", "--iterations", "2", "--each-round")
    assert outcome.code == 0, outcome.err
    text = (here / "x.html").read_text()
    queries = Page(text).block("search")["queries"]
    assert {*queries["id"]} == {"q1", "q2"}
    assert {*queries["round"]} == {1, 2}
    assert "<td class=text>q1, round 2</td>" in text


def rows_of(fields, *rows):
    return Table(
        tuple(fields.split()), iter([[list(column) for column in zip(*rows, strict=True)]])
    )


def test_rows_of_a_table_are_grouped_by_query():
    """In the order in which queries first appear; a target's rows share its rank."""
    fields = "qseqid sseqid evalue"
    table = rows_of(fields, ("b", "x", 1e-9), ("a", "y", 2.0), ("b", "x", 1e-3), ("b", "z", 5.0))
    groups = list(group_rows(table, 500))
    assert [(group.id, group.hits, group.best) for group in groups] == [
        ("b", 2, 1e-9),
        ("a", 1, 2.0),
    ]
    assert groups[0].data["columns"]["rank"] == [1, 1, 2]
    assert groups[0].data["columns"]["id"] == ["x", "x", "z"]


def test_places_of_a_table_are_those_of_blast():
    """From 1, the last one included, falling on the other strand."""
    (group,) = group_rows(rows_of("qseqid qstart qend sstart send", ("q", 3, 9, 20, 14)), 500)
    columns = group.data["columns"]
    assert [columns[name] for name in ("qstart", "qend", "sstart", "send")] == [
        [2],
        [9],
        [13],
        [20],
    ]
    assert columns["sframe"] == [-1]
    assert "qframe" not in columns


@pytest.mark.parametrize(
    ("fields", "row", "letters"),
    [
        ("qseq sseq", ("MK-VL", "MKAV-"), ("2M1D1M1I", "MKVL", "MKAV")),
        ("qseq sseq cigar", ("MKVL", "MKAV", "2M1D1M1I"), ("2M1D1M1I", "MKVL", "MKAV")),
        ("qseq sseq cigar", ("MKVL", "MKAV", "9M"), None),
        ("qseq sseq", ("MKVL", "MKA"), None),
        ("cigar sseq", ("2M", "MK"), None),
    ],
)
def test_letters_of_a_table_are_rows_or_have_operations(fields, row, letters):
    """DIAMOND writes aligned parts without gaps; what does not fit together is not drawn."""
    (group,) = group_rows(rows_of(f"qseqid {fields}", ("q", *row)), 500)
    found = [*group.data["letters"].values()]
    assert found == ([[x] for x in letters] if letters else [[], [], []])


def test_a_table_without_rows_and_without_queries(tmp_path):
    """An empty table gives a page, and rows without a query belong to one without a name."""
    (tmp_path / "x.tsv").write_text("")
    assert convert(tmp_path / "x.tsv", tmp_path / "x.html") == 0
    assert "0 hits of 0 queries" in (tmp_path / "x.html").read_text()
    (group,) = group_rows(rows_of("sseqid score", ("a", 3)), 500)
    assert (group.id, group.best) == ("", 3.0)


def test_tables_of_other_programs_are_converted(tmp_path):
    """BLAST's format 7, and twelve columns by themselves."""
    row = "\t".join(["q1", "t1", "98.5", "200", "3", "0", "1", "200", "5", "204", "1e-99", "380"])
    head = (
        "# BLASTP 2.12.0+\n# Query: q1\n# Database: d\n# Fields: query acc.ver, subject acc.ver, "
    )
    head += "% identity, alignment length, mismatches, gap opens, q. start, q. end, s. start, "
    head += "s. end, evalue, bit score\n# 1 hits found\n"
    (tmp_path / "7.txt").write_text(f"{head}{row}\n# BLAST processed 1 queries\n")
    (tmp_path / "6.m8").write_text(f"{row}\n")
    convert(tmp_path / "7.txt", tmp_path / "7.html", before="7")
    convert(tmp_path / "6.m8", tmp_path / "6.html")
    for name in "67":
        block = Page((tmp_path / f"{name}.html").read_text()).block("query-0")
        assert block["columns"]["evalue"] == [1e-99]
        assert block["columns"]["mismatch"] == [3]
        assert block["letters"]["cigar"] == []
        assert block["columns"]["pident"] == [98.5]
