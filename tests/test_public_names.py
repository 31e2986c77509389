"""What ``import swdual`` offers, and what it costs."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

import swdual

NAMES = [
    "Alignment",
    "ClusterError",
    "Complex",
    "Database",
    "DatabaseError",
    "Device",
    "DeviceError",
    "DeviceMemoryError",
    "EngineError",
    "Hit",
    "InputError",
    "MatrixError",
    "MemoryLimitError",
    "MultipleAlignment",
    "OutputError",
    "Plan",
    "Profile",
    "QueryResult",
    "ScoringScheme",
    "SearchResults",
    "StatisticsUnavailable",
    "SubstitutionMatrix",
    "SwdualError",
    "__version__",
    "align",
    "align_pairs",
    "allpairs",
    "audit",
    "find_clusters",
    "iter_search",
    "iterate",
    "makedb",
    "msa",
    "plan",
    "read_profile",
    "search",
]

HEAVY = (
    *("Bio", "cupy", "llvmlite", "matplotlib"),
    *("numba", "numpy", "pandas", "polars", "pyarrow"),
)


def modules_after(code, *arguments):
    """Return the names of the modules that a fresh interpreter has loaded after some code."""
    script = f"""
import json, sys
sys.argv[1:] = {list(arguments)!r}
try:
    {code}
except SystemExit as stop:
    assert not stop.code, stop.code
print()
print(json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True
    )
    *said, modules = done.stdout.splitlines()
    return "\n".join(said).strip(), json.loads(modules)


def test_the_public_names_are_these():
    """Adding or removing one is a decision that this list records."""
    assert swdual.__all__ == NAMES
    assert sorted(swdual.__all__) == NAMES
    assert dir(swdual) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_public_name_can_be_imported(name):
    """Each is there on first use, and tells what it is."""
    found = getattr(swdual, name)
    assert found is getattr(swdual, name)
    assert found.__doc__
    namespace = {}
    exec(f"from swdual import {name}", namespace)
    assert namespace[name] is found


def test_a_star_import_gives_all_of_them():
    """``from swdual import *`` binds exactly the public names."""
    namespace = {}
    exec("from swdual import *", namespace)
    assert sorted(namespace.keys() - {"__builtins__"}) == NAMES


def test_the_search_function_survives_the_import_of_submodules():
    """No module of the package is called like a public name and takes its place."""
    code = (
        "import swdual, swdual.api, swdual.cli.search, swdual.cli.align, "
        "swdual.cli.makedb, swdual.cli.plan, swdual.master.pair, swdual.database.makedb; "
        "names = (swdual.search, swdual.align, swdual.makedb, swdual.plan); "
        "print(*(type(x).__name__ for x in names))"
    )
    assert modules_after(code)[0] == "function function function function"


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (
            "sys.byteorder = 'big'",
            r"swdual cannot run on \w+: sys.byteorder is 'big'.*; use x86",
        ),
        ("sys._is_gil_enabled = lambda: False", "swdual .*interpreter lock.*; set .*PYTHON_GIL=1,"),
    ],
)
def test_where_it_cannot_run_the_import_says_why(machine, message):
    """Before anything of size is loaded, or is missing."""
    code = f"""{machine}
    try:
        import swdual
    except ImportError as refusal:
        print(refusal)"""
    said, modules = modules_after(code)
    assert re.match(message, said)
    assert not {*HEAVY} & {*modules}


def test_an_unknown_name_is_an_attribute_error():
    """As with any module, so that hasattr works."""
    with pytest.raises(AttributeError, match="'swdual' has no attribute 'serach'"):
        _ = swdual.serach
    assert not hasattr(swdual, "numba")


def test_a_search_loads_nothing_that_its_output_does_not_need():
    """Neither Biopython nor what makes data frames and pictures, whatever is installed."""
    code = "import swdual; print(swdual.search('MKVLAW', {'t': 'MKVLAW'})[0][0].evalue < 10)"
    said, modules = modules_after(code)
    assert said == "True"
    assert "numpy" in modules
    for name in ("Bio", "matplotlib", "pandas", "polars", "pyarrow"):
        assert name not in modules


@pytest.mark.parametrize(
    "name", [n for n in NAMES if n.endswith("Error")] + ["StatisticsUnavailable"]
)
def test_every_error_is_one_of_swduals(name):
    """Whoever catches SwdualError catches them all; each has its exit code."""
    error = getattr(swdual, name)
    assert issubclass(error, swdual.SwdualError)
    assert isinstance(error.exit_code, int)


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("import swdual", ()),
        ("import swdual; swdual.__version__; dir(swdual)", ()),
        ("import runpy; runpy.run_module('swdual', run_name='__main__')", ("--version",)),
        ("import runpy; runpy.run_module('swdual', run_name='__main__')", ("--help",)),
    ],
    ids=["import", "version", "swdual --version", "swdual --help"],
)
def test_importing_costs_nothing(code, arguments):
    """Nothing heavy is loaded before it is needed."""
    _, modules = modules_after(code, *arguments)
    assert "swdual" in modules
    assert [name for name in HEAVY if name in modules] == []


def test_the_command_tells_the_version():
    """``swdual --version`` says what ``swdual.__version__`` is."""
    code = "import runpy; runpy.run_module('swdual', run_name='__main__')"
    assert modules_after(code, "--version")[0] == f"swdual {swdual.__version__}"
