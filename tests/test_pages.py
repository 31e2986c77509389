"""Every command and all Python that README and the pages in docs/ show run, and write that."""

from __future__ import annotations

import contextlib
import io
import os
import shutil

import pytest
from support.pages import (
    PAGES,
    ROOT,
    blocks_of,
    missing_line,
    run_shell,
    write_samples,
    write_shim,
)

WITH_CODE = [
    page for page in PAGES if any(block.language in ("sh", "python") for block in blocks_of(page))
]
SHOWN = ("text", "toml", "groovy", "output")
"""Languages of blocks that are not run."""


def name_of(page):
    return page.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """A folder with the files that the pages name."""
    folder = tmp_path_factory.mktemp("samples")
    write_samples(folder)
    return folder


@pytest.fixture
def environment(tmp_path):
    """Variables with this swdual first on the path."""
    shim = write_shim(tmp_path / "shim")
    return {**os.environ, "PATH": f"{shim}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.process
@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_the_code_of_a_page_runs_and_writes_what_the_page_shows(
    page, samples, environment, tmp_path, monkeypatch
):
    """One block after the other, in one folder; Python blocks share their names."""
    for package in ("matplotlib", "pandas", "pyarrow", "scipy", "xlsxwriter"):
        pytest.importorskip(package)
    folder = tmp_path / "page"
    shutil.copytree(samples, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", environment["PATH"])
    monkeypatch.setattr("swdual.io.output._refuse_existing", lambda *_: None)  # as in the shim
    names: dict[str, object] = {}
    output = None
    for block in blocks_of(page):
        if block.file:
            (folder / block.file).write_text(block.code)
        elif block.language == "output":
            assert output is not None, block.code
            missing = missing_line(block.code, output)
            assert missing is None, f"{missing!r} is not in\n{output}"
        elif block.reason:
            output = None
        elif block.language == "sh":
            output = run_shell(block.code, folder, environment)
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(block.code, f"{page.name}: {block.code[:60]}", "exec"), names)
            output = stream.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_its_language(page):
    """One that is run, or one that only shows something; directives of Sphinx aside."""
    for block in blocks_of(page):
        known = block.language in ("sh", "python", *SHOWN) or block.language.startswith("{")
        assert known, block


def test_lines_of_an_output_are_found_in_their_order():
    """Blanks count once; three dots stand for anything."""
    output = "a  1\nb 2.5 s\n\nc\n"
    assert missing_line("a 1\nb ... s\n", output) is None
    assert missing_line("c\na 1\n", output) == "a 1"
    assert missing_line("b\n", output) == "b"
