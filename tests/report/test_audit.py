"""Pages of audits in browsers: what they show is what Python counts."""

from __future__ import annotations

import pytest

import swdual

pytestmark = pytest.mark.process

FAMILY = "MKVLAWGGHERWCDEFMKTAYIAKQRQISFVKSHFSRQ"
HOSTILE = "</script><img/src=x/onerror=window.attacked=1>\"'${attacked}&lt;b&gt;é"

ROWS = "return [...document.querySelectorAll('#hits tbody tr[id]')].map((row) => row.innerText)"


@pytest.fixture(scope="module")
def page(folder):
    """A page of two tables, with hostile names; the first has one hit of three."""
    targets = [(f"{HOSTILE}{k}", FAMILY[: 38 - 6 * k]) for k in range(3)]
    tables = [folder / "some.tsv", folder / "'${x}<b>.tsv"]
    rows = [f"{HOSTILE}\t{HOSTILE}{k}\t1e-9\t{bits}\n" for k, bits in ((0, 20.0), (1, 30.0))]
    for table, count in zip(tables, (1, 2), strict=True):
        table.write_text("qseqid\tsseqid\tevalue\tbitscore\n" + "".join(rows[:count]))
    found = swdual.audit(tables, [(HOSTILE, FAMILY)], targets, evalue=1, comp_based_stats=0)
    path = folder / "audit.html"
    found.report(path)
    return path


def test_a_page_is_quiet_and_asks_for_nothing(browser, page):
    browser.open(page)
    assert browser.collect() == []
    assert [x for x in browser.requests if not x.startswith(("file:", "data:"))] == []
    assert browser.run("return window.attacked ?? null") is None
    assert browser.run("return document.querySelectorAll('img, b, script[src]').length") == 0


def test_the_page_lists_what_is_missed_and_then_what_differs(browser, page):
    browser.open(page)
    rows = browser.run(ROWS)
    assert ["missed" in row for row in rows] == [True] * 3 + [False] * 3
    assert all(HOSTILE in row for row in rows)
    browser.open(page, "verdict=missed&table=some")
    assert len(browser.run(ROWS)) == 2
    assert browser.run("return document.querySelectorAll('.shares .series circle').length") > 0


def test_the_page_is_usable_by_all(browser, page):
    browser.open(page)
    assert browser.find_faults() == []
