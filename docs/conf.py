"""The documentation site: ``sphinx-build -W -n -b html docs build/site``; see CONTRIBUTING.md.

The pages are plain Markdown that can also be read where the code is hosted. So they link to each
other, and to files of the project, by path.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Generic, TypeVar

import numpy.typing

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

from swdual import __version__

Number = TypeVar("Number")


class NDArray(Generic[Number]):
    """Is shown as NDArray[int64]; NumPy's own would be ndarray[tuple[Any, ...], dtype[int64]]."""


numpy.typing.NDArray = NDArray

project = "swdual"
author = "The swdual authors"
copyright = "the swdual authors"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",  # numpydoc shows no types of parameters: ours are annotations
    "sphinx.ext.viewcode",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "commands",
    "docstrings",
    "project_pages",
    "tables",
]
templates_path = ["_templates"]
exclude_patterns = ["README.md", "_templates", "extensions", "gallery"]
exclude_patterns += ["generated/gallery/**.ipynb"]  # the scripts once more, to download

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # as where the code is hosted
default_role = "code"  # for docstrings
smartquotes = False  # they make dashes of "--"
nb_execution_mode = "off"  # their outputs are kept; tests/test_notebook.py runs them

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "subsection_order": [
        *(f"gallery/{name}" for name in ("search", "statistics", "profiles", "sets", "plans")),
        "*",
    ],
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 5,
    "abort_on_example_error": True,
}

nitpick_ignore_regex = [
    # Other packages: their inventories are on the network.
    ("py:.*", r"(numpy|np|os|pathlib|collections|matplotlib)\..*"),
    # Names of types as the code imports them, where it does so for the type checker only.
    ("py:class", r"(NDArray|ndarray|Path|Speedup|SequenceOf|Numbers|Piece|Timing|CleaningReport)"),
    ("py:class", "NodeTable"),
    ("py:class", r"(Source|AlignedHits|swdual\.sequences\.matrices\.LetterScores)"),
    # Inner types that a signature names and users neither make nor take apart.
    ("py:class", r"(swdual\.[a-z_.]+\.)?(ScheduleData|SearchParameters|Tracebacks|Batch|Trace)"),
    ("py:class", r"swdual\.[a-z_.]+\.(TypeRule|(Pair|Search)Keywords|Executions)"),
    ("py:class", r"swdual\.[a-z_.]+\.(Further|Query)(Alignments|Hits)"),
    ("py:class", r"swdual\.[a-z_.]+\.(InclusionHistory|TargetRecords|Output|Statistics)"),
    ("py:class", r"swdual\.[a-z_.]+\.(ClusterRules|RoundOptions|(Allocator|Policy)Plugin)"),
]

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
autosummary_imported_members = False

html_theme = "pydata_sphinx_theme"
html_title = "swdual"
html_static_path = ["_static"]
html_css_files = ["swdual.css"]
html_theme_options = {
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False
html_copy_source = False
