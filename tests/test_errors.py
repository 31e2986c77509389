"""Errors reach the client of a cluster as they were raised on a node."""

from __future__ import annotations

import pickle
import runpy

import pytest

from swdual import errors

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.SwdualError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_that_was_sent_is_the_same(kind):
    """Its kind, its words, its place, and so the exit code."""
    error = kind("cause; remedy", file="some.fa", line=3)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (str(again), again.file, again.line) == (str(error), "some.fa", 3)
    assert again.exit_code == error.exit_code


def test_an_error_without_a_place_has_none_when_it_was_sent():
    again = pickle.loads(pickle.dumps(errors.ClusterError("gone")))
    assert (again.file, again.line, str(again)) == (None, None, "gone")


CELLS = {
    "a file that is missing": (
        "import swdual\n\nfound = swdual.search('missing.fa', {'a': 'MKV'})",
        "InputError: missing.fa: no such file, and not a sequence of letters either (line 3 of "
        "this cell)\n",
    ),
    "a trace that is missing": (
        "from swdual.scheduling import simulate\nsimulate('missing.swf', 4)",
        "InputError: missing.swf: cannot be opened: No such file or directory (line 2 of this "
        "cell)\n",
    ),
    "an option that is misspelt": (
        "import swdual\nswdual.align('MKV', 'MKV', gap_opn=2)",
        "UnknownOption: align() has no option 'gap_opn'; did you mean gap_open? (line 2 of this "
        "cell)\n",
    ),
}


@pytest.mark.parametrize("cell", CELLS)
def test_a_notebook_shows_an_error_in_one_line(cell, tmp_path, monkeypatch):
    """With the line of the cell, and without what is inside of swdual."""
    pytest.importorskip("IPython")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output
    from traitlets.config import Config

    shell = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
    code, message = CELLS[cell]
    with capture_output() as shown:
        shell.run_cell(code)
    assert shown.stdout + shown.stderr == message


def test_the_line_of_an_error_in_a_file_is_that_of_the_file(tmp_path):
    """The last one before the first line of swdual."""
    path = tmp_path / "script.py"
    path.write_text("import swdual\ndef run():\n    swdual.align(None, 'MKV')\nrun()\n")
    with pytest.raises(errors.InputError) as caught:
        runpy.run_path(str(path))
    (shown,) = caught.value._render_traceback_()
    assert shown.endswith(f"(None); give a path, or sequences (line 3 of {path})")
