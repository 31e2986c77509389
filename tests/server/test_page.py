"""The page of the server in a browser: paste, choose, watch, look at the report."""

from __future__ import annotations

import pytest
from support.browsers import Chromium
from support.servers import running_server, wait_until

from swdual.database.makedb import makedb

pytestmark = pytest.mark.process

TOKEN = "0123456789abcdef"

HOSTILE = "<img src=x onerror=window.attacked=1></textarea><script>window.attacked=1</script>"

FILL = """
document.getElementById("queries").value = arguments[0];
for (const [id, value] of Object.entries(arguments[1])) document.getElementById(id).value = value;
document.getElementById("search").requestSubmit();
"""

FRAME_TEXT = "return document.querySelector('iframe')?.srcdoc ?? ''"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("databases")
    (folder / "t.fa").write_text(
        f">t1 {HOSTILE}\nMKVLAWGGHERMKV\n>t2\nGGGGWW\n>t3\nACDEFGHIKLMNPQRSTVWYACD\n"
    )
    makedb([folder / "t.fa"], folder / "t.db").close()
    return folder / "t.db"


@pytest.fixture(scope="module")
def site(database):
    with running_server(database) as (url, _):
        yield url


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    started = Chromium(tmp_path_factory.mktemp("chromium"))
    yield started
    started.close()


def open_page(browser, url):
    browser.go(f"{url}/")
    wait_until(lambda: browser.run("return document.documentElement.classList.contains('ready')"))
    browser.messages, browser.requests = [], []


def text_of(browser, identifier):
    return browser.run("return document.getElementById(arguments[0]).textContent", identifier)


def test_a_pasted_sequence_gives_a_report_that_works_in_its_frame(browser, site):
    open_page(browser, site)
    assert text_of(browser, "database") == "t.db (3 proteins)"
    browser.run(FILL, f">{HOSTILE}\nMKVLAWGGHERMKVLAWDEF\n", {})
    wait_until(lambda: browser.run(FRAME_TEXT))
    assert text_of(browser, "message").startswith("2 hits of 1 query in 3 proteins")
    driver = browser.driver
    driver.switch_to.frame(driver.find_element("css selector", "iframe"))
    try:
        # Only the script of the report makes fields to filter hits.
        wait_until(lambda: driver.execute_script("return !!document.querySelector('input')"))
        assert "<img" in driver.execute_script("return document.body.textContent")
        assert not driver.execute_script("return window.attacked")
        assert driver.execute_script("return window.origin") == "null"
    finally:
        driver.switch_to.default_content()
    assert not browser.run("return window.attacked")
    assert not [m for m in browser.collect() if "favicon" not in m]
    own = (f"{site}/", "about:", "blob:", "data:", "chrome:")
    assert [each for each in browser.requests if not each.startswith(own)] == []


def test_a_table_is_shown_as_text_and_options_are_sent(browser, site):
    open_page(browser, site)
    browser.run(FILL, ">q\nMKVLAWGGHERMKVLAWDEF\n", {"format": "csv", "max_target_seqs": "1"})
    wait_until(lambda: browser.run("return document.querySelector('pre')?.textContent"))
    assert len(text_of(browser, "result").splitlines()) == 2


@pytest.mark.parametrize(
    ("queries", "words"), [(">q\nMK1V\n", "queries:2: "), (">q\n", "no residues")]
)
def test_an_error_is_told_with_its_place(browser, site, queries, words):
    open_page(browser, site)
    browser.run(FILL, queries, {})
    wait_until(lambda: browser.run("return !!document.querySelector('.wrong')"))
    assert words in text_of(browser, "message")


def test_a_server_with_a_token_asks_for_it(browser, database):
    with running_server(database, tokens=[TOKEN]) as (url, _):
        open_page(browser, url)
        assert browser.run("return !document.getElementById('login').hidden")
        assert "asks for a token" in text_of(browser, "message")
        browser.run(FILL, ">q\nMKVLAWGGHERMKVLAWDEF\n", {"token": TOKEN})
        wait_until(lambda: browser.run(FRAME_TEXT))
        assert TOKEN not in "".join(browser.requests)


def test_the_page_fits_small_screens_and_has_names_for_its_fields(browser, site):
    open_page(browser, site)
    for width in (400, 900, 1600):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wide = "return document.documentElement.scrollWidth <= innerWidth"
        browser.run("document.querySelector('details').open = true")
        assert browser.run(wide), width
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    unnamed = browser.run(
        "return [...document.querySelectorAll('input, select, textarea')]"
        ".filter((each) => !each.labels.length).map((each) => each.id)"
    )
    assert unnamed == []
