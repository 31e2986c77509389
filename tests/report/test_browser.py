"""Reports in Chromium and in Firefox: what they show is what swdual computes."""

from __future__ import annotations

import io
import re
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest
from support.genes import random_genes, random_proteins

from swdual.api import search
from swdual.formats import pairwise, tabular
from swdual.hits.fields import columns
from swdual.io.output import Output
from swdual.results.conversion import convert

pytestmark = pytest.mark.process

PROTEINS = random_proteins(1, 12)
GENES = random_genes(2, PROTEINS)

HOSTILE = [
    "<img src=x onerror=window.attacked=1>",
    "</script><script>window.attacked=1</script>",
    "t0 </title><svg onload=window.attacked=1>",
    'q"uote\' onmouseover="window.attacked=1 &amp; &lt;b&gt; \\u003c ]]> <!-- ${attacked} `x`',
    "t1 tab\tand bell\x07 and \u202e turned é 漢 \U0001f9ec",
    "sp|P02232|LGB1_VICFA javascript:window.attacked=1",
    "__proto__ constructor",
    "=cmd|' /C calc'!A0",
    "  spaced   out ",
]
"""Names that would be markup, scripts, formulas or paths if anything took them for such."""


def _domains():
    """Return proteins with parts of each other, so that pairs have several alignments."""
    first, second, *_ = PROTEINS.values()
    return {"both and both": f"{first}{second}{first}", "one": first, "other": second}


def _other_strand(gene):
    return gene.translate(str.maketrans("ACGT", "TGCA"))[::-1]


def _strands():
    genes = [*GENES.values()]
    return {f"g{k}": x if k % 2 else _other_strand(x) for k, x in enumerate(genes)}


def _shifted():
    gene = next(iter(GENES.values()))
    return f"{gene[:61]}A{gene[61:120]}{gene[121:]}"


SEARCHES = {
    "proteins": lambda: search(PROTEINS, PROTEINS, evalue=1e9),
    "masked": lambda: search(
        {"q": "MKVLAW" + "A" * 30 + "GGHEDEFW"}, PROTEINS, mask="seg", evalue=1e9
    ),
    "several": lambda: search(_domains(), {**PROTEINS, **_domains()}, max_hsps=4, evalue=1e9),
    "raw": lambda: search(PROTEINS, PROTEINS, stats="none"),
    "fit": lambda: search(PROTEINS, PROTEINS, stats="fit", evalue=1e9),
    "nucleotides": lambda: search(GENES, _strands(), strand="both", evalue=1e9),
    "blastx": lambda: search(GENES, PROTEINS, task="blastx", evalue=1e9),
    "tblastn": lambda: search(PROTEINS, GENES, task="tblastn", max_hsps=3, evalue=1e9),
    "tblastx": lambda: search({"q": _shifted()}, _strands(), task="tblastx", evalue=1e9),
    "frameshifts": lambda: search(
        {"q": _shifted(), "r": _other_strand(_shifted())},
        PROTEINS,
        query_gencode=1,
        frameshift=15,
        evalue=1e9,
    ),
    "hostile": lambda: search(
        [(name, "MKVLAWGGHERMKVLAWDEF") for name in HOSTILE],
        [(name, "MKVLAWGGHEMKVLAWDEF") for name in HOSTILE],
        evalue=1e9,
    ),
    "nothing": lambda: search({"q": "WWWWWW"}, {"t": "AAAAAA"}, evalue=1e-9),
}
"""Searches of every kind that reports show in their own way."""


@cache
def found(name):
    """Return the results of a search."""
    return SEARCHES[name]()


def page_of(folder, name):
    """Return the report of a search, written once."""
    path = folder / f"{name}.html"
    if not path.exists():
        found(name).write(path)
    return path


def table_of(result, rows):
    """Return some rows of a result as format 6."""
    stream = io.BytesIO()
    whole = result.per_alignment()
    kept = whole.subset(np.asarray(rows, np.int64))
    if kept.row_hits is None:
        tabular.write([kept], Output(stream, "x"), tabular.FIELDS, header=False)
    else:
        tabular.write_table(
            tabular.Table(tabular.FIELDS, iter([columns(kept, tabular.FIELDS)])),
            Output(stream, "x"),
            header=False,
        )
    return stream.getvalue().decode()


def enter(browser, label, text):
    """Write a text into the filter with a label, as a reader does."""
    browser.run(
        """
        const label = [...document.querySelectorAll(".query .filters label")]
          .find((each) => each.textContent.trim().startsWith(arguments[0]));
        const input = label.querySelector("input");
        input.value = arguments[1];
        input.dispatchEvent(new Event("input", { bubbles: true }));
        """,
        label,
        text,
    )


def open_query(browser, page, number, more=""):
    browser.open(page, f"q={number + 1}{more}")


@pytest.mark.parametrize("name", SEARCHES)
def test_a_page_is_quiet_and_asks_for_nothing(browser, folder, name):
    """No message in the console, no request but for the file itself, nothing that ran."""
    browser.open(page_of(folder, name))
    for number in range(min(3, len(found(name)))):
        open_query(browser, page_of(folder, name), number)
    assert browser.collect() == []
    assert [x for x in browser.requests if not x.startswith(("file:", "data:"))] == []
    assert browser.run("return window.attacked ?? null") is None


@pytest.mark.parametrize("name", SEARCHES)
def test_the_table_is_format_6(browser, folder, name):
    """All alignments of a query, to the last digit, in the order of the search."""
    results = found(name)
    for number, result in enumerate(results):
        if number < 4 and len(result):
            open_query(browser, page_of(folder, name), number)
            file, text = browser.saved("TSV")
            assert text == table_of(result, range(len(result.per_alignment())))
            assert re.fullmatch(r"[A-Za-z0-9._-]+\.tsv", file)


@pytest.mark.parametrize("name", [name for name in SEARCHES if name != "nothing"])
def test_an_alignment_as_text_is_format_0(browser, folder, name):
    """Byte for byte, for the best hits and for the worst."""
    for number, result in enumerate(found(name)):
        if number >= 3 or not len(result):
            continue
        open_query(browser, page_of(folder, name), number)
        ranks = result.per_alignment().ranks
        for place in {*range(min(4, len(result))), len(result) - 1}:
            hit = result[place]
            row = int(np.flatnonzero(ranks == hit.rank)[0])
            text = browser.run(
                """
                const grid = document.querySelector(".query table[role=grid]");
                const press = (key) => grid.dispatchEvent(new KeyboardEvent("keydown", { key }));
                press("Home");
                for (let k = 0; k < arguments[0]; k++) press("j");
                [...document.querySelectorAll(".detail button")]
                  .find((each) => each.textContent === "Copy as text").click();
                return window.copied;
                """,
                row,
            )
            assert text == pairwise._hit(hit).lstrip("\n")


@pytest.mark.parametrize("name", ["proteins", "nucleotides", "blastx", "tblastn", "frameshifts"])
def test_the_pointer_shows_letters_places_and_scores(browser, folder, name):
    """Of each column of an alignment; in a translated sequence, the first base of the codon."""
    result = found(name)[0]
    open_query(browser, page_of(folder, name), 0)
    alignment = result[0].alignment
    shown = browser.run(
        """
        const lines = document.querySelectorAll(".detail .alignment")[0].querySelectorAll("pre");
        return [...lines].flatMap((line) => {
          const { left, width } = line.querySelector(".letters").getBoundingClientRect();
          const columns = line.querySelector(".letters").textContent.length;
          return Array.from({ length: columns }, (_, k) => {
            const clientX = left + (width * (k + 0.5)) / columns;
            line.dispatchEvent(new PointerEvent("pointermove", { clientX }));
            return document.querySelector(".detail .point").textContent;
          });
        });
        """
    )
    matrix = result.params.scheme.matrix
    letters = matrix.alphabet.letters
    translated = result.params.comparison.query_gencode, result.params.comparison.db_gencode
    sides = (
        (alignment.query_start, alignment.query_end, alignment.query_frame),
        (alignment.target_start, alignment.target_end, alignment.target_frame),
    )
    steps = [
        (3 if code else 1) * (-1 if side[2] < 0 else 1)
        for code, side in zip(translated, sides, strict=True)
    ]
    places = [
        end if step < 0 else start + 1 for step, (start, end, _) in zip(steps, sides, strict=True)
    ]
    top, _, bottom = alignment.rows
    assert len(shown) == len(top)
    for text, *pair in zip(shown, top, bottom, strict=True):
        told = []
        for k, letter in enumerate(pair):
            if letter in "\\/":
                told.append("frameshift")
                places[k] += (1 if letter == "\\" else -1) * (1 if steps[k] > 0 else -1)
            elif letter == "-":
                told.append("gap")
            else:
                told.append(f"{letter} {places[k]}")
                places[k] += steps[k]
        expected = f"query {told[0]}, target {told[1]}"
        if all(letter.upper() in letters for letter in pair):
            a, b = (letters.index(letter.upper()) for letter in pair)
            score = int(matrix.scores[a, b])
            expected += f", {matrix.name} {'+' * (score > 0)}{score}"
        assert text == expected


LIMITS = [("E-value", "evalue", "max"), ("Identity", "pident", "min"), ("Cover", "qcovhsp", "min")]


@pytest.mark.parametrize("name", ["proteins", "several", "nucleotides", "blastx"])
def test_rows_that_pass_a_filter_are_those_that_numpy_finds(browser, folder, name):
    """Each limit by itself, at a value of the column, and all of them at once."""
    result = found(name)[0]
    rows = result.per_alignment()
    open_query(browser, page_of(folder, name), 0)
    passing = np.ones(len(rows), bool)
    for label, field, kind in LIMITS:
        values = np.asarray(columns(rows, [field])[0])
        bound = float(np.sort(values)[len(values) // 2])
        alone = values <= bound if kind == "max" else values >= bound
        enter(browser, label, repr(bound))
        assert browser.saved("TSV")[1] == table_of(result, np.flatnonzero(alone))
        enter(browser, label, "")
    for label, field, kind in LIMITS:
        values = np.asarray(columns(rows, [field])[0])
        bound = float(np.quantile(values, 0.8 if kind == "max" else 0.2))
        passing &= values <= bound if kind == "max" else values >= bound
        enter(browser, label, repr(bound))
    assert browser.saved("TSV")[1] == table_of(result, np.flatnonzero(passing))
    shown = f"{passing.sum():,} of {len(rows):,} "
    assert browser.run("return document.querySelector('.query .status').textContent").startswith(
        shown
    )


@pytest.mark.parametrize("text", ["p1", "P", "no such", "<IMG", "\\u003c", "é 漢", "a"])
def test_rows_with_a_text_are_those_that_pandas_finds(browser, folder, text):
    """Upper and lower case are the same; nothing is a pattern."""
    pandas = pytest.importorskip("pandas")
    for name in ("proteins", "hostile"):
        result = found(name)[0]
        open_query(browser, page_of(folder, name), 0)
        enter(browser, "Text", text)
        kept = pandas.Series(result.titles).str.contains(text, case=False, regex=False)
        expected = table_of(result, np.flatnonzero(kept))
        assert browser.saved("TSV")[1] == expected


@pytest.mark.parametrize("name", ["proteins", "several", "raw"])
def test_rows_are_sorted_as_pandas_sorts_them(browser, folder, name):
    """By each column, both ways; equal values stay in the order of the search."""
    pandas = pytest.importorskip("pandas")
    result = found(name)[0]
    rows = result.per_alignment()
    fields = {
        "rank": "rank", "id": "sseqid", "bits": "bitscore", "evalue": "evalue", "score": "score",
        "pident": "pident", "qcovhsp": "qcovhsp", "length": "length", "slen": "slen",
    }  # fmt: skip
    if result.statistics is None:
        del fields["bits"], fields["evalue"]
    for column, field in fields.items():
        values = pandas.Series(columns(rows, [field])[0])
        for falls in (False, True):
            open_query(browser, page_of(folder, name), 0, f"&sort={'-' * falls}{column}")
            order = values.sort_values(kind="stable", ascending=not falls).index.to_numpy()
            assert browser.saved("TSV")[1] == table_of(result, order), (column, falls)
            shown = browser.run(
                "return document.querySelector(`.query th[data-column=${arguments[0]}]`).ariaSort",
                column,
            )
            assert shown == ("descending" if falls else "ascending")


def test_a_click_on_a_head_sorts_and_the_address_tells_it(browser, folder):
    """The best first where large is good; again the other way; then as found."""
    page = page_of(folder, "proteins")
    open_query(browser, page, 0)
    click = "document.querySelector('.query th[data-column=pident] button').click();"
    told = [browser.run(f"{click} return location.hash") for _ in range(3)]
    assert ["sort=-pident" in told[0], "sort=pident" in told[1], "sort" in told[2]] == [
        True,
        True,
        False,
    ]


def test_selected_rows_are_those_that_are_saved(browser, folder):
    """By check box and by key; without any, all that are shown."""
    result = found("proteins")[0]
    open_query(browser, page_of(folder, "proteins"), 0)
    browser.run(
        """
        const grid = document.querySelector(".query table[role=grid]");
        const press = (key) => grid.dispatchEvent(new KeyboardEvent("keydown", { key }));
        document.querySelector(".query tr[aria-rowindex='4'] input").click();
        press("Home");
        press("x");
        """
    )
    assert browser.saved("TSV")[1] == table_of(result, [0, 2])
    status = browser.run("return document.querySelector('.query .status').textContent")
    assert status == f"{len(result)} hits, 2 selected"
    selected = browser.run(
        "return [...document.querySelectorAll('.query tr[aria-selected=true]')]"
        ".map((row) => row.ariaRowIndex)"
    )
    assert selected == ["2", "4"]


def test_keys_walk_through_the_rows(browser, folder):
    """j, k, arrows, Home and End; the alignment follows, and Enter goes to it."""
    result = found("proteins")[0]
    open_query(browser, page_of(folder, "proteins"), 0)
    walk = """
        const grid = document.querySelector(".query table[role=grid]");
        grid.focus();
        for (const key of arguments[0]) grid.dispatchEvent(new KeyboardEvent("keydown", { key }));
        const active = document.getElementById(grid.getAttribute("aria-activedescendant"));
        return [active.ariaRowIndex, document.querySelector(".detail h2").textContent];
    """
    for keys, place in (
        (["Home"], 0),
        (["j", "j", "ArrowDown"], 3),
        (["k"], 2),
        (["ArrowUp", "k", "k", "k"], 0),
        (["End"], len(result) - 1),
    ):
        index, title = browser.run(walk, keys)
        assert index == str(place + 2)
        assert title.startswith(f"{place + 1}. {result[place].id} ")


def test_the_address_brings_a_view_back(browser, folder):
    """Query, filters, order, row and colours."""
    page = page_of(folder, "proteins")
    result = found("proteins")[1]
    rows = result.per_alignment()
    fragment = "q=2&minident=20&sort=-length&row=3&colour=conservation"
    browser.open(page, fragment)
    identity, length = (np.asarray(x) for x in columns(rows, ["pident", "length"]))
    order = np.argsort(-length, kind="stable")
    order = order[identity[order] >= 20]
    assert browser.saved("TSV")[1] == table_of(result, order)
    assert sorted(browser.run("return location.hash.slice(1)").split("&")) == sorted(
        fragment.split("&")
    )
    assert browser.run("return document.querySelector('.detail select').value") == "conservation"


def test_another_query_is_shown_with_the_same_filters(browser, folder):
    """By a click in the list, and by keys: its pictures, its hits, its alignment."""
    page = page_of(folder, "proteins")
    browser.open(page, "minident=20&sort=-length&row=4")
    rows = found("proteins")
    bars = "document.querySelectorAll('.overview rect[data-row]').length"
    for number, move in (
        (2, "document.querySelector('nav tr[aria-rowindex=\"4\"]').click()"),
        (3, "const key = new KeyboardEvent('keydown', { key: 'j' }); grid.dispatchEvent(key)"),
    ):
        browser.run(f"const grid = document.querySelector('nav table'); {move}")
        browser.wait(f"document.querySelector('.query h2').textContent.startsWith('p{number} ')")
        result = rows[number]
        identity, length = (np.asarray(x) for x in columns(result, ["pident", "length"]))
        order = np.argsort(-length, kind="stable")
        order = order[identity[order] >= 20]
        assert browser.saved("TSV")[1] == table_of(result, order)
        assert browser.run(f"return {bars}") == min(100, len(result))
        title = browser.run("return document.querySelector('.detail h2').textContent")
        assert title.split()[1] == result[int(order[0])].id
    assert "minident=20" in browser.run("return location.hash")


def read_fasta(text):
    """Return titles and letters, by a definition in two lines."""
    records = [part.partition("\n") for part in text.split(">")[1:]]
    return [(title, letters.replace("\n", "")) for title, _, letters in records]


@pytest.mark.parametrize("name", ["proteins", "nucleotides", "blastx", "tblastn"])
def test_fasta_has_the_aligned_parts_of_the_targets(browser, folder, name):
    result = found(name)[0]
    open_query(browser, page_of(folder, name), 0)
    records = read_fasta(browser.saved("FASTA")[1])
    rows = list(result.per_alignment())
    assert len(records) == len(rows)
    fields = zip(*columns(result.per_alignment(), ["sstart", "send"]), strict=True)
    for (title, letters), hit, (start, end) in zip(records, rows, fields, strict=True):
        assert letters == hit.alignment.rows[2].replace("-", "")
        assert title.split()[0] == f"{hit.id}/{start}-{end}"


def test_what_has_no_letters_is_left_out_and_counted(browser, folder):
    """Where the page holds the alignments of the best hits only."""
    result = found("proteins")[0]
    page = folder / "two.html"
    page.write_text(found("proteins").report(alignments=2).html, encoding="utf-8")
    open_query(browser, page, 0)
    assert len(read_fasta(browser.saved("FASTA")[1])) == 2
    told = "return document.querySelector('.tools [role=status]').textContent"
    assert browser.run(told).startswith(f"{len(result) - 2} left out")
    assert len(read_fasta(browser.saved("A3M")[1])) == 3
    assert browser.saved("TSV")[1].count("\n") == len(result)
    assert browser.run(told) == ""
    facts = browser.run("return document.querySelector('.query-head p').textContent")
    assert facts.endswith(f"{len(result)} hits, alignments of the best 2")


@pytest.mark.parametrize("name", ["proteins", "several", "nucleotides", "tblastn"])
def test_a3m_has_the_rows_of_the_alignments(browser, folder, name):
    """Upper case and "-" are the columns of the query; lower case is inserted between them."""
    result = found(name)[0]
    open_query(browser, page_of(folder, name), 0)
    (_, query), *records = read_fasta(browser.saved("A3M")[1])
    assert query == result.query.letters.upper()
    rows = list(result.per_alignment())
    assert len(records) == len(rows)
    for (title, letters), hit in zip(records, rows, strict=True):
        top, _, bottom = hit.alignment.rows
        inside = "".join(
            b.lower() if a == "-" else b.upper() for a, b in zip(top, bottom, strict=True)
        )
        before, after = hit.query_start, len(query) - hit.query_end
        assert letters == "-" * before + inside + "-" * after
        assert title == hit.title


def test_the_picture_has_a_bar_for_each_alignment(browser, folder):
    """The saved SVG is XML by itself, with a title for each of the best 100 hits."""
    result = found("several")[0]
    open_query(browser, page_of(folder, "several"), 0)
    picture = ElementTree.fromstring(browser.saved("SVG")[1])
    bars = [
        node
        for node in picture.iter("{http://www.w3.org/2000/svg}rect")
        if node.get("data-row") is not None
    ]
    assert len(bars) == len(result.per_alignment())
    scale = (float(picture.get("width")) - 2) / len(result.query)
    for bar, hit in zip(bars, result.per_alignment(), strict=True):
        assert float(bar.get("x")) == pytest.approx(1 + scale * hit.query_start, abs=0.06)
        assert bar[0].text.startswith(f"{hit.rank}. {hit.id}, ")
        assert re.fullmatch(r"rgb\(\d+, \d+, \d+\)", bar.get("fill"))


def test_hostile_names_are_shown_as_they_are(browser, folder):
    """In the list of queries, in heads, cells, tooltips and pictures: as text."""
    page = page_of(folder, "hostile")
    for number in range(len(HOSTILE)):
        open_query(browser, page, number)
    result = found("hostile")[0]
    open_query(browser, page, 0)
    shown = browser.run(
        "return [...document.querySelectorAll('.query tbody tr[id] td.text:nth-of-type(3)')]"
        ".map((cell) => cell.textContent)"
    )
    assert shown == [hit.id for hit in result]
    assert browser.run("return document.querySelectorAll('img, script[src], iframe').length") == 0
    assert browser.run("return window.attacked ?? null") is None
    assert browser.collect() == []
    links = browser.run("return [...document.querySelectorAll('.query a')].map((a) => a.href)")
    assert links
    assert {link.split("?")[0] for link in links} == {
        "https://www.uniprot.org/uniprotkb/P02232/entry"
    }


LINKS = {
    "sp|P02232|LGB1_VICFA": "https://www.uniprot.org/uniprotkb/P02232/entry",
    "tr|A0A385XJN2|A0A385XJN2_ECOLI": "https://www.uniprot.org/uniprotkb/A0A385XJN2/entry",
    "gi|122087146|sp|P02232.2|LGB1": "https://www.uniprot.org/uniprotkb/P02232/entry",
    "Q8WZ42": "https://www.uniprot.org/uniprotkb/Q8WZ42/entry",
    "UniRef90_Q8WZ42": "https://www.uniprot.org/uniprotkb/Q8WZ42/entry",
    "gi|82503188|ref|NP_007605.1|": "https://www.ncbi.nlm.nih.gov/protein/NP_007605.1",
    "XP_001234567.2": "https://www.ncbi.nlm.nih.gov/protein/XP_001234567.2",
    "AAA12345.1": "https://www.ncbi.nlm.nih.gov/protein/AAA12345.1",
    "pdb|1ABC|A": "https://www.rcsb.org/structure/1ABC",
    "4hhb_B": "https://www.rcsb.org/structure/4HHB",
    "d1vkya_": None,
    "protein1": None,
    "query1": None,
    "ENSP00000467141": None,
    "sp|": None,
    "sp|javascript:alert(1)|x": None,
    "ref|../../x": None,
}
"""Identifiers, and where they lead."""


def test_identifiers_of_known_forms_are_links(browser, folder):
    """Plain ones, which tell the other side nothing; identifiers of other forms are text."""
    results = search("MKVLAWGGHERMKVLAWDEF", dict.fromkeys(LINKS, "MKVLAWGGHERMKVLAWDEF"))
    page = folder / "links.html"
    results.write(page, force=True)
    browser.open(page)
    shown = browser.run(
        """
        return [...document.querySelectorAll(".query tbody tr[id] td.text:nth-of-type(3)")]
          .map((cell) => [cell.textContent, cell.querySelector("a")?.href ?? null,
            cell.querySelector("a")?.rel ?? "noreferrer"]);
        """
    )
    assert {name: address for name, address, _ in shown} == LINKS
    assert {rel for *_, rel in shown} == {"noreferrer"}


def test_a_page_can_be_printed(browser, folder):
    """With a plain table of the best 50 in place of the one that scrolls."""
    browser.open(page_of(folder, "proteins"))
    pages = browser.print_pdf()
    assert pages.startswith(b"%PDF-")
    assert len(pages) > 5000
    browser.run("dispatchEvent(new Event('beforeprint'))")
    rows = browser.run("return document.querySelectorAll('.print-only tbody tr').length")
    assert rows == min(50, len(found("proteins")[0]))


@pytest.mark.parametrize("name", ["proteins", "several", "nucleotides", "frameshifts", "nothing"])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_serious(browser, folder, name, colours):
    """The rules of axe-core, which the npm package of this name has."""
    browser.open(page_of(folder, name))
    browser.run(f"document.documentElement.style.colorScheme = '{colours}'")
    browser.run("document.querySelector('details').open = true")
    assert browser.find_faults() == []


@pytest.mark.parametrize("fields", ["6", "6 std qseq sseq qlen slen stitle", "6 std cigar score"])
def test_a_converted_table_shows_what_it_tells(browser, folder, fields):
    """The twelve columns come back; letters are drawn only where the table has them."""
    name = re.sub("[^a-z0-9]", "", fields)
    table, page = folder / f"{name}.tsv", folder / f"{name}.html"
    results = found("proteins")
    results.write(table, fields, header=fields != "6", force=True)
    convert(table, page, force=True)
    for number in range(3):
        open_query(browser, page, number)
        ids = browser.run("return document.querySelector('.query h2').textContent.trim()")
        assert ids == results[number].query.id
        text = browser.saved("TSV")[1]
        assert text == table_of(results[number], range(len(results[number])))
    drawn = browser.run("return document.querySelectorAll('.detail .alignment').length")
    note = browser.run("return document.querySelector('.detail .note')?.textContent ?? ''")
    assert (drawn, "holds no letters" in note) == ((1, False) if "qseq" in fields else (0, True))
    assert browser.collect() == []


def test_a_long_table_is_scrolled_to_its_end(browser, folder):
    """Longer than browsers can draw at once: then a pixel of the scroll bar is more than a row."""
    count = 330_000
    table, page = folder / "long.tsv", folder / "long.html"
    if not page.exists():
        rows = (f"q\tt{k}\t50\t9\t0\t0\t1\t9\t1\t9\t1e-9\t40\n" for k in range(count))
        table.write_text("".join(rows))
        convert(table, page)
    browser.open(page)
    seen = """
        const grid = document.querySelector(".query table[role=grid]");
        grid.dispatchEvent(new KeyboardEvent("keydown", { key: arguments[0] }));
        const { top, bottom } = document.querySelector(".query .scroller").getBoundingClientRect();
        const row = document.querySelector(".query tr.current");
        const box = row.getBoundingClientRect();
        return [Number(row.ariaRowIndex), box.top >= top && box.bottom <= bottom + 1];
    """
    for key, index in (("End", count + 1), ("k", count), ("Home", 2), ("j", 3), ("PageDown", None)):
        found, visible = browser.run(seen, key)
        assert visible, key
        assert index in (found, None)


HEADS = """
    return [...document.querySelectorAll(".query table[role=grid] th")]
      .filter((head) => head.offsetWidth)
      .map((head) => head.textContent.replace(/[▲▼]/g, "").trim());
"""


def test_the_cover_of_all_alignments_serves_where_no_other_is_known(browser, folder):
    """A table of the twelve columns and `qcovs` has the column and the filter."""
    table, page = folder / "qcovs.tsv", folder / "qcovs.html"
    found("proteins").write(table, "6 std qcovs", force=True)
    convert(table, page, before="6 std qcovs", force=True)
    open_query(browser, page, 0)
    assert "Cover %" in browser.run(HEADS)
    whole = browser.run("return document.querySelectorAll('.query tbody tr[aria-rowindex]').length")
    enter(browser, "Cover", "99.5")
    kept = browser.run("return document.querySelectorAll('.query tbody tr[aria-rowindex]').length")
    assert 0 < kept < whole


def test_a_narrow_table_keeps_the_cover_rather_than_the_scores(browser, folder):
    """The filters of identity and cover have their columns."""
    open_query(browser, page_of(folder, "masked"), 0)
    browser.run("document.body.style.width = '740px'")
    heads = browser.run(HEADS)
    assert {"Target", "E-value", "Ident. %", "Cover %"} <= {*heads}
    assert not {"Bits", "Score"} & {*heads}


def test_titles_have_what_identifiers_leave(browser, folder):
    """Of a report of 1,200 pixels: identifiers in full, and twenty letters of titles."""
    page = folder / "titles.html"
    sequence = next(iter(PROTEINS.values()))
    titles = [f"sp|P{k:05d}|PROT{k}_YEAST Dolichyl-diphosphooligosaccharide" for k in range(9)]
    search({"q": sequence}, dict.fromkeys(titles, sequence)).write(page, force=True)
    open_query(browser, page, 0)
    browser.run("document.querySelector('.query').style.width = '830px'")
    target, title = browser.run(
        """
        const row = document.querySelector(".query tbody tr[aria-rowindex]");
        return ["Target", "Title"].map((label) => {
          const heads = [...document.querySelectorAll(".query th")];
          const cell = row.cells[heads.findIndex((head) => head.textContent.trim() === label)];
          return [cell.scrollWidth, cell.clientWidth];
        });
        """
    )
    assert target[0] == target[1]
    assert title[1] >= 140


@pytest.mark.parametrize(("hits", "drawn"), [(1, 0), (4, 0), (5, 1)])
def test_a_histogram_is_drawn_of_five_hits_or_more(browser, folder, hits, drawn):
    """Its counts are named, with their scale."""
    page = folder / f"first{hits}.html"
    result = found("proteins")[0]
    assert len(result) > hits
    found("proteins").top(hits).write(page, force=True)
    open_query(browser, page, 0)
    texts = browser.run(
        "return [...document.querySelectorAll('svg.scores text')].map((each) => each.textContent)"
    )
    assert texts[:1] == ["hits, log scale"] * drawn


def test_equal_scores_have_no_histogram(browser, folder):
    """One bar would say nothing."""
    page = folder / "equal.html"
    sequence = next(iter(PROTEINS.values()))
    search({"q": sequence}, {f"t{k}": sequence for k in range(9)}).write(page, force=True)
    open_query(browser, page, 0)
    assert browser.run("return document.querySelectorAll('svg.scores').length") == 0
    assert browser.run("return document.querySelectorAll('svg.overview').length") == 1
