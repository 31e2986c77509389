"""README and the pages in docs/: short, linked, and about commands and options that exist."""

from __future__ import annotations

import html
import re

import click
import pytest
from support.pages import PAGES, ROOT, blocks_of

from swdual import errors, registry
from swdual.cli import group
from swdual.format import SYNONYMS
from swdual.io.endings import ENDINGS

OTHERS = {"--swipe", "--keep", "--local-directory", "--seq-id-mode", "--cov-mode", "--cluster-mode"}
OTHERS |= {"--format-mode", "--unal", "--claim", "--figure"}
"""Options of other programs, and of `bench/papers`, that pages name without a command before."""


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def anchor(heading):
    """Return how a link names a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def commands():
    """Return the names of the options of each command."""
    context = click.Context(group)
    return {
        name: {
            each
            for option in group.get_command(context, name).params
            for each in (*option.opts, *option.secondary_opts)
        }
        for name in group.list_commands(context)
    }


def joined(text):
    """Return a page with each command on one line: in blocks, and in code within a sentence."""
    blocks = re.split(r"(?ms)(^ *```.*?^ *```)", text.replace("\\\n", " "))
    blocks[::2] = [re.sub(r"`[^`]+`", lambda x: " ".join(x[0].split()), x) for x in blocks[::2]]
    return "".join(blocks)


def options_of_script(path):
    """Return what a script below `bench/` may be given: options often lie beside it, too."""
    texts = (each.read_text() for each in (ROOT / path).parent.glob("*.py"))
    return {option for text in texts for option in re.findall(r"(?<=[\"/])--[a-z][\w-]*", text)}


def options_in(arguments):
    """Return the options behind a command, without what is quoted or a comment."""
    return re.findall(r"(?<![\w/-])--[a-z][\w-]*", re.sub(r"\"[^\"]*\"|#.*", "", arguments))


def test_the_readme_is_short_and_has_the_two_commands():
    """The limit keeps explanations in docs/; `.ci/run` runs the two commands."""
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) < 200
    assert sum(line.startswith("pip install ") for line in lines) == 2


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page):
    """To a file of the project, and to a heading of it."""
    text = re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text())
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, heading = link.partition("#")
        if path.startswith("http"):
            continue
        target = page.parent / path if path else page
        assert target.exists(), link
        if heading:
            headings = re.findall(r"(?m)^#+ (.*)$", target.read_text())
            assert heading in map(anchor, headings), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_option_exists(page):
    """Those behind a command or script are its own; those alone are of any that the page names."""
    known = commands()
    text = joined(page.read_text())
    for name, arguments in re.findall(r"swdual (\w+)([^\n`|]*)", text):
        for option in options_in(arguments) if name in known else ():
            assert option in known[name] | {"--help"}, f"swdual {name} {option}"
    every = set().union(*known.values()) | OTHERS
    for path, arguments in re.findall(r"\bpython (bench/[a-z\d_/]+\.py)([^\n`|]*)", text):
        own = options_of_script(path)
        for option in options_in(arguments):
            assert option in own | {"--help"}, f"{path} {option}"
        every |= own
    if page.name.startswith("from_"):  # the first column has the options of another program
        text = re.sub(r"(?m)^\|[^|]*\|", "", text)
    for option in re.findall(r"`(--[a-z][\w-]*)", text):
        assert option in every, option


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_test_and_script_exists(page):
    """What a page says to run lies in the project."""
    for path in re.findall(r"(?<![\w/.])(?:tests|bench)/[\w./-]*\w", page.read_text()):
        assert re.search("[A-Z]{3}", path) or (ROOT / path).exists(), path


def test_the_index_names_every_page():
    """`docs/README.md` and the list of decisions lack none."""
    for folder in ("docs", "docs/decisions"):
        index = (ROOT / folder / "README.md").read_text()
        for page in (ROOT / folder).glob("*.md"):
            assert page.name == "README.md" or f"({page.name})" in index


def test_the_picture_of_the_readme_shows_its_commands_and_their_output():
    """`docs/pictures/record_terminal.py` draws it; it is small, and loads nothing."""
    readme, picture = ROOT / "README.md", ROOT / "docs" / "pictures" / "readme.svg"
    svg = picture.read_text()
    assert len(svg) < 100_000
    assert not re.search(r"(href|src|url)\W+(\w+:)?//", svg)
    lines = re.findall(r">([^<]*)</text>", svg)
    shown = " ".join(html.unescape(" ".join(lines)).replace("\xa0", " ").split())
    lines = filter(None, readme.read_text().splitlines())
    commands = [line for line in lines if f"$ {line}" in shown]
    assert len({*commands}) == 3
    tables = [block.code for block in blocks_of(readme) if block.language == "output"]
    for table in (tables[0], tables[-1]):
        for line in table.splitlines():
            assert " ".join(line.split()) in shown


def test_the_drawing_of_a_search_has_the_numbers_of_its_page():
    """The code of the page prints them."""
    svg = (ROOT / "docs" / "pictures" / "search.svg").read_text()
    numbers = re.search(r'font-weight="700">(.*?)</g>', svg)
    drawn = {number.replace(",", "") for number in re.findall(r">([\d,]+)<", numbers[0])}
    blocks = blocks_of(ROOT / "docs" / "how_a_search_works.md")
    printed = " ".join(block.code for block in blocks if block.language == "output")
    assert drawn == {"1914", "111", "15"}
    assert drawn <= {*printed.replace(",", "").split()}


def table_below(page, heading):
    """Return the cells of the first table below a heading, without its head."""
    text = (ROOT / "docs" / page).read_text().partition(f"{heading}\n")[2]
    table = re.search(r"(?m)(^\|.*\n)+", text)
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in table[0].splitlines()[2:]]


def test_the_exit_codes_are_those_of_the_errors():
    kinds = [each for each in vars(errors).values() if isinstance(each, type)]
    codes = {each.exit_code for each in kinds if issubclass(each, errors.SwdualError)}
    rows = table_below("interruptions.md", "## Exit codes")
    told = {int(code) for codes, _ in rows for code in codes.split(",")}
    assert told == codes | {0, 130, 143, 141}


def test_the_formats_and_their_names_are_those_of_the_code():
    rows = table_below("formats.md", "# Output formats")
    told = {name for names, _ in rows for name in re.findall(r"`([\w.]+)`", names)}
    assert told == {*registry.available("swdual.formats"), *SYNONYMS}
    rows = table_below("formats.md", "## Names of files")
    endings = {
        end: format.strip("`") for ends, format in rows for end in re.findall(r"`(\S+)`", ends)
    }
    assert endings == ENDINGS
