"""Packages: valid, and those that run give the bytes of the command."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import click
import pytest

from swdual.cli import group
from swdual.io.endings import ENDINGS
from swdual.version import __version__

yaml = pytest.importorskip("yaml", reason="the files are YAML")
pytest.importorskip("jinja2", reason="the packages are made with templates")

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "packages" / "README.md"
COMMANDS = ("search", "makedb")
DATA = ROOT / "data"

FILES = {
    "search": {
        *("--query", "--db", "--pssm", "--msa", "--msa-master", "--ignore-msa-master"),
        *("--taxonomy", "--taxidlist", "--not-taxidlist", "--target-ids", "--not-target-ids"),
    },
    "makedb": {
        *("--in", "--db", "--mask-file", "--force", "--shards", "--taxid-map", "--taxonomy"),
    },
}
"""Options of the groups in Galaxy's forms that Galaxy gives values to, or that need such files."""


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A folder with all packages, as the generator writes them."""
    folder = tmp_path_factory.mktemp("packages")
    runpy.run_path(os.fspath(PAGE.with_name("generate.py")))["write"](folder)
    return folder


@pytest.fixture
def galaxy(packages):
    return packages / "galaxy"


@pytest.fixture
def nextflow(packages):
    return packages / "nextflow"


def needs(module):
    """Skip a test where the program of a linter is missing."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"there is no {module} here; the extra 'packages' installs it")


def call(*command, folder=None, **variables):
    """Run a program of this environment; return what it printed."""
    paths = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": paths, "PYTHONWARNINGS": "ignore"} | variables
    done = subprocess.run(
        [os.fspath(word) for word in command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def shell(tmp_path):
    """Run a script with bash in a folder of its own, where swdual has its name."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    command = tmp_path / "bin" / "swdual"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m swdual "$@"\n')
    command.chmod(0o755)

    def run(script, **variables):
        paths = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
        return call(bash, "-euc", script, folder=tmp_path, **({"PATH": paths} | variables))

    return run


def options(command):
    """Return the names of the options of a command."""
    context = click.Context(group)
    return {
        name
        for each in group.get_command(context, command).params
        for name in (*each.opts, *each.secondary_opts)
    }


def form(galaxy, command):
    """Return the inputs of Galaxy's form: those outside of sections, and those of each section."""
    inputs = ElementTree.parse(galaxy / f"swdual_{command}.xml").getroot().find("inputs")
    return inputs.findall("param"), {each.get("name"): [*each] for each in inputs.iter("section")}


def name_of(param):
    return param.get("name") or param.get("argument").lstrip("-").replace("-", "_")


def test_the_page_names_the_image_of_this_release():
    text = PAGE.read_text(encoding="utf-8")
    assert {*re.findall(r"swdual[:-](\d[\d.]*\d)", text)} == {__version__}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_in_a_package_exists(packages, command):
    files = [
        packages / "galaxy" / f"swdual_{command}.xml",
        *(packages / "nextflow" / command).rglob("*.*"),
        *(packages / "snakemake" / command).rglob("*.*"),
    ]
    for file in files:
        named = {*re.findall(r"(?<![\w-])--[a-z][\w-]*", file.read_text())}
        assert named <= options(command) | {"--version"}, file
    assert len(files) == 7


@pytest.mark.parametrize("command", COMMANDS)
def test_the_form_shows_the_options_of_its_groups_in_the_help(run, galaxy, command):
    text = run(command, "--help").out
    for heading, params in form(galaxy, command)[1].items():
        part = re.search(rf"(?ms)^{heading.capitalize()}:\n(.*?)(?=^\S|\Z)", text)[1]
        listed = {
            max(re.findall(r"--[a-z][\w-]*", line), key=len)
            for line in re.findall(r"(?m)^  (-\S.*?)(?:  |$)", part)
        }
        assert {each.get("argument") for each in params} == {
            each for each in listed - FILES[command] if each not in ("--out", "--outfmt")
        }, heading


@pytest.mark.parametrize("command", COMMANDS)
def test_values_of_a_form_are_those_of_the_command(galaxy, command):
    """Its defaults are the command's, and the command converts all values that can be chosen."""
    context = click.Context(group)
    known = {
        name: each for each in group.get_command(context, command).params for name in each.opts
    }
    values = 0
    for params in form(galaxy, command)[1].values():
        for param in params:
            option = known[param.get("argument")]
            shown = [each.get("value") for each in param.findall("option")]
            chosen = [each.get("value") for each in param.findall("option[@selected='true']")]
            default = option.to_info_dict()["default"]
            if param.get("type") != "boolean":
                known_default = "" if default is None or option.multiple else f"{default}"
                assert param.get("value", "".join(chosen)) == known_default, option.name
            else:
                assert not default
                assert param.get("checked") == "false"
            assert all(option.type.convert(value, option, context) is not None for value in shown)
            values += len(shown)
    assert values > 3


@pytest.mark.parametrize("command", COMMANDS)
def test_galaxy_finds_nothing_to_warn_of_in_the_tool(galaxy, command):
    """Its linter also compares the file with the schema."""
    needs("galaxy")
    needs("edam_ontology")
    script = (
        "import sys\n"
        "from galaxy.tool_util.lint import get_lint_context_for_tool_source as lint\n"
        "from galaxy.tool_util.parser import get_tool_source\n"
        "found = lint(get_tool_source(sys.argv[1]))\n"
        "print([x.message for x in found.error_messages + found.warn_messages])\n"
        "print(len(found.valid_messages))\n"
    )
    troubles, good = call(
        sys.executable, "-c", script, galaxy / f"swdual_{command}.xml"
    ).splitlines()
    assert troubles == "[]"
    assert int(good) > 5


def fill_in(galaxy, command, changes, outputs):
    """Return the command line of a tool with the values of its form, as Galaxy makes it."""
    needs("Cheetah")
    outside, sections = form(galaxy, command)
    known = {"outside": outside} | sections
    values = {heading: {} for heading in known}
    for heading, params in known.items():
        for param in params:
            name = name_of(param)
            given = changes.get(name if heading == "outside" else f"{heading}|{name}")
            if param.get("type") == "data":
                path = os.fspath(galaxy / "test-data" / given)
                value = [path] if param.get("multiple") else path
            elif param.get("type") == "boolean":
                value = param.get("truevalue" if given == "true" else "falsevalue")
            elif param.get("type") == "select":
                offered = [each.get("value") for each in param.findall("option")]
                chosen = [each.get("value") for each in param.findall("option[@selected='true']")]
                chosen = chosen or ([] if param.get("optional") == "true" else offered[:1])
                value = given or "".join(chosen) or "None"
                assert value == "None" or {*value.split(",")} <= {*offered}
            else:
                value = param.get("value", "") if given is None else given
            values[heading][name] = value
    names = values.pop("outside") | {x: SimpleNamespace(**y) for x, y in values.items()} | outputs
    script = (
        "import ast, sys\n"
        "from types import SimpleNamespace\n"
        "from Cheetah.Template import Template\n"
        "names = eval(sys.argv[2], {'namespace': SimpleNamespace})\n"
        "print(Template(sys.argv[1], searchList=[names]))\n"
    )
    template = ElementTree.parse(galaxy / f"swdual_{command}.xml").getroot().findtext("command")
    return call(sys.executable, "-c", script, template, repr(names)).replace("\n", " ").strip()


def galaxy_tests(galaxy, command):
    """Return the tests of a tool: their inputs, and what they say about the output."""
    root = ElementTree.parse(galaxy / f"swdual_{command}.xml").getroot()
    for test in root.iter("test"):
        inputs = {each.get("name"): each.get("value") for each in test.findall("param")}
        for section in test.findall("section"):
            for each in section:
                inputs[f"{section.get('name')}|{each.get('name')}"] = each.get("value")
        yield inputs, test.find("output")


@pytest.mark.parametrize(
    ("command", "number"), [("search", 0), ("search", 1), ("makedb", 0)], ids=str
)
def test_the_tests_of_galaxys_tools_pass(shell, galaxy, tmp_path, command, number):
    """The command line is Cheetah's, the assertions are checked by Galaxy's own code."""
    needs("galaxy")
    inputs, output = [*galaxy_tests(galaxy, command)][number]
    result = tmp_path / "dataset_1.dat"
    line = fill_in(galaxy, command, inputs, {output.get("name"): os.fspath(result)})
    shell(line, GALAXY_SLOTS="1", GALAXY_MEMORY_MB="2000")
    script = (
        "import sys\n"
        "from galaxy.tool_util.parser import get_tool_source\n"
        "from galaxy.tool_util.verify.asserts import verify_assertions\n"
        "tests = get_tool_source(sys.argv[1]).parse_tests_to_dict()['tests']\n"
        "found = tests[int(sys.argv[2])]['outputs'][0]['attributes']['assert_list']\n"
        "verify_assertions(open(sys.argv[3], 'rb').read(), found)\n"
        "print(len(found))\n"
    )
    tool = galaxy / f"swdual_{command}.xml"
    checked = call(sys.executable, "-c", script, tool, f"{number}", result)
    assert int(checked) == len([*output.find("assert_contents")])


def test_galaxys_default_values_give_the_hits_of_the_defaults(shell, galaxy, tmp_path, run):
    samples = galaxy / "test-data"
    inputs = {"query": "queries.fasta", "db": "proteins.fasta"}
    shell(fill_in(galaxy, "search", inputs, {"hits": os.fspath(tmp_path / "hits")}))
    expected = run("search", samples / "queries.fasta", samples / "proteins.fasta").out
    assert (tmp_path / "hits").read_text() == expected
    assert len(expected.splitlines()) > 1


def test_quotes_in_a_form_stay_text(galaxy):
    """A value cannot end its word: Galaxy replaces quotes, and each value is within them."""
    for command in COMMANDS:
        text = (galaxy / f"swdual_{command}.xml").read_text()
        template = text[text.index("<![CDATA[") : text.index("]]>")]
        flags = re.findall(r"\$(\w+\.\w+)\n", template)
        words = re.sub(r"#.*|\\\$\{[^}]*\}\}?M?", "", template)
        for each in re.findall(r"(.)\$[{\w]", words):
            assert each in "' "
        for each in flags:
            section, name = each.split(".")
            params = {name_of(param): param for param in form(galaxy, command)[1][section]}
            assert params[name].get("type") == "boolean"


@pytest.fixture
def samples(tmp_path):
    """A folder with the sample data."""
    folder = tmp_path / "samples"
    folder.mkdir()
    for name in ("queries.fasta", "proteins.fasta"):
        shutil.copy(DATA / name, folder)
    return folder


@pytest.fixture
def snakemake(packages, samples):
    """Run Snakemake with the workflow of the samples."""
    needs("snakemake")
    module = [sys.executable, "-m", "snakemake", "--directory", samples]
    module += ["--snakefile", packages / "snakemake" / "Snakefile"]
    cache = os.fspath(samples / "cache")
    return lambda *words: call(*module, "--cores", "1", *words, XDG_CACHE_HOME=cache)


def test_the_workflow_has_nothing_to_lint_and_runs_dry(snakemake, samples):
    snakemake("--lint")
    planned = snakemake("--dry-run")
    assert [f"rule {name}:" in planned for name in (*COMMANDS, "all")] == [True] * 3
    assert {file.name for file in samples.iterdir()} <= {
        *("queries.fasta", "proteins.fasta", "cache", ".snakemake"),
    }


@pytest.mark.process
def test_the_wrappers_write_what_the_commands_write(snakemake, samples, run):
    snakemake()
    words = ("-e", "1e-3", "-k", "10", "-f", "tabular std qcovhsp")
    expected = run("search", DATA / "queries.fasta", DATA / "proteins.fasta", *words).out
    assert (samples / "hits.tsv").read_text() == expected
    assert "28 hits of 5 queries" in (samples / "logs" / "search.log").read_text()


@pytest.mark.process
def test_the_memory_of_a_rule_is_the_limit_of_its_command(snakemake, samples):
    """Too little memory is an error, which names the limit."""
    with pytest.raises(AssertionError, match="exit status 4"):
        snakemake("--set-resources", "makedb:mem_mb=300")
    said = (samples / "logs" / "makedb.log").read_text()
    assert "300 MiB of memory (--memory-limit) are too little" in said


def wrapper_arguments(packages, command):
    """Return the function of a wrapper that makes the words of the command line."""
    tree = ast.parse((packages / "snakemake" / command / "wrapper.py").read_text())
    kept = [each for each in tree.body if isinstance(each, (ast.FunctionDef, ast.Assign))][:3]
    names = {}
    code = ast.Module([ast.parse("import shlex").body[0], *kept], type_ignores=[])
    exec(compile(code, "wrapper.py", "exec"), names)
    return names["arguments"]


def test_parameters_of_a_rule_become_options(packages):
    search, makedb = (wrapper_arguments(packages, command) for command in COMMANDS)
    assert search({}).strip() == ""
    assert search({"evalue": 1e-5, "resume": True}).split() == ["--evalue=1e-05", "--resume"]
    assert search({"header": False, "force": False}).split() == ["--no-header"]
    assert search({"outfmt": "6 std; rm x"}).strip() == "'--outfmt=6 std; rm x'"
    assert search({"extra": "-k 5", "sum_stats": True}) == "--sum-stats=True -k 5"
    assert makedb({"mask": ["seg", "lcase"]}).split() == ["--mask=seg", "--mask=lcase"]


def test_a_parameter_that_is_no_option_is_refused(packages):
    arguments = wrapper_arguments(packages, "search")
    with pytest.raises(ValueError, match=r"params\.e_value: no such option; there are .*evalue"):
        arguments({"e_value": 1})
    with pytest.raises(ValueError, match=r"params\.threads: no such option"):
        arguments({"threads": 4})


def test_the_wrappers_are_formatted_and_linted(packages):
    """Snakemake defines `snakemake` in its scripts."""
    needs("ruff")
    ruff = (sys.executable, "-m", "ruff")
    config = ("--config", ROOT / "pyproject.toml", packages / "snakemake")
    call(*ruff, "format", "--check", *config)
    call(*ruff, "check", "--extend-ignore", "D1,F821", *config)


def script_of(nextflow, command, **values):
    """Return the script of a Nextflow module with the values of its variables."""
    text = (nextflow / command / "main.nf").read_text()
    body = re.search(r'script:.*?"""\n(.*?)"""', text, re.S)[1].replace("\\\\", "\\")
    return re.sub(r"\$\{([\w.]+)\}", lambda match: values[match[1]], body)


def test_the_scripts_of_the_modules_write_what_the_commands_write(
    shell, nextflow, samples, tmp_path, run
):
    """Nextflow is not run: the test fills in the variables."""
    fasta, db, hits = (f"{samples}/{name}" for name in ("proteins.fasta", "all", "some"))
    shell(
        script_of(
            nextflow, "makedb", fasta=fasta, prefix=db, args="", memory="--memory-limit 1000M"
        )
    )
    values = {"task.cpus": "1", "memory": "--memory-limit 2000M", "args": "-k 2"}
    inputs = {"queries": f"{samples}/queries.fasta", "db": f"{db}.db"}
    shell(script_of(nextflow, "search", prefix=hits, ending="csv", **inputs, **values))
    words = ("-k", "2", "-o", tmp_path / "expected.csv")
    run("search", DATA / "queries.fasta", DATA / "proteins.fasta", *words)
    assert Path(f"{hits}.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_description_of_a_module_names_its_channels(nextflow, command):
    """As nf-core's linter asks: inputs in order, outputs by name and by what they hold."""
    text = (nextflow / command / "main.nf").read_text()
    described = yaml.safe_load((nextflow / command / "meta.yml").read_text())
    part = re.search(r"input:\n(.*?)\n\n", text, re.S)[1]
    inputs = [re.findall(r"(?:val|path)(?:\(| )(\w+)", line) for line in part.splitlines()]
    listed = [each if isinstance(each, list) else [each] for each in described["input"]]
    assert [[next(iter(x)) for x in each] for each in listed] == inputs
    part = re.search(r"output:\n(.*?)\n\n", text, re.S)[1]
    for line in part.splitlines():
        name = re.search(r"emit: (\w+)", line)[1]
        items = [str(next(iter(each))) for each in described["output"][name][0]]
        for item in items:
            assert item in line
    assert [*described["output"]] == re.findall(r"emit: (\w+)", part)
    assert described["topics"]["versions"] == described["output"]["versions_swdual"]
    assert described["name"] == f"swdual_{command}"
    assert f"process SWDUAL_{command.upper()} {{" in text
    if command == "search":
        assert described["input"][2]["ending"]["enum"] == sorted(x[1:] for x in ENDINGS)


def test_yaml_can_be_read(packages):
    files = [*packages.rglob("*.y*ml")]
    assert len(files) == 9
    for file in files:
        assert isinstance(yaml.safe_load(file.read_text(encoding="utf-8")), dict), file


def test_the_recipe_renders_with_the_dependencies_of_the_project(packages):
    needs("rattler_build")
    script = (
        "import json, sys\n"
        "from rattler_build import RenderConfig, Stage0Recipe, VariantConfig\n"
        "recipe = Stage0Recipe.from_file(sys.argv[1])\n"
        "[found] = recipe.render(VariantConfig(), RenderConfig())\n"
        "print(json.dumps(found.recipe.to_dict(), default=str))\n"
    )
    found = yaml.safe_load(call(sys.executable, "-c", script, packages / "conda" / "recipe.yaml"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert found["package"]["version"] == __version__
    run = {re.split("[ <>=]", each)[0] for each in found["requirements"]["run"]}
    needed = {re.split("[ <>=;]", each)[0] for each in project["dependencies"]}
    assert run == {each.lower() for each in needed} | {"python"}
    limits = "".join(each for each in found["requirements"]["run"] if each.startswith("python "))
    assert project["requires-python"] in limits


def test_hadolint_finds_nothing_in_the_dockerfile(packages):
    program = shutil.which("hadolint", path=Path(sys.executable).parent)
    if program is None:
        pytest.skip("there is no hadolint here; the extra 'packages' installs it")
    call(program, "--failure-threshold", "style", packages / "container" / "Dockerfile")


def test_the_containers_copy_files_that_exist_and_install_alike(packages):
    docker = (packages / "container" / "Dockerfile").read_text()
    apptainer = (packages / "container" / "swdual.def").read_text()
    copied = {
        name for line in re.findall(r"(?m)^COPY (?!--)(.*)", docker) for name in line.split()[:-1]
    }
    section = re.search(r"(?ms)^%files\n(.*?)^%", apptainer)[1]
    assert copied == {line.split()[0] for line in section.splitlines() if line.strip()}
    assert all((ROOT / name).exists() for name in copied)
    assert re.findall(r"(?m)^FROM (\S+)", docker) == re.findall(r"(?m)^From: (\S+)", apptainer) * 2


def test_apptainers_definition_has_sections_that_are_known(packages):
    needs("spython")
    script = (
        "import sys\n"
        "from spython.main.parse.parsers import get_parser\n"
        "print(get_parser('singularity')(sys.argv[1]).parse()['spython-base'].json())\n"
    )
    shown = call(sys.executable, "-c", script, packages / "container" / "swdual.def")
    assert "pip install" in shown


@pytest.mark.process
def test_a_publisher_can_upload_the_distributions(tmp_path):
    """Two builds are equal, the checks pass, and both have what they need."""
    for module in ("build", "hatchling", "twine", "check_wheel_contents"):
        needs(module)
    for name in ("one", "two"):
        words = ("--no-isolation", "--outdir", tmp_path / name, ROOT)
        call(sys.executable, "-m", "build", *words, SOURCE_DATE_EPOCH="1700000000")
    first, second = (sorted((tmp_path / name).iterdir()) for name in ("one", "two"))
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
    wheel, source = sorted(first, key=lambda file: file.suffix != ".whl")
    call(sys.executable, "-m", "twine", "check", "--strict", wheel, source)
    call(sys.executable, "-m", "check_wheel_contents", wheel)
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
    kernels = {f"swdual/kernels/{file.name}" for file in (ROOT / "kernels").iterdir()}
    assert {"swdual/py.typed", *kernels} <= {*names}
    assert {name.split("/")[0] for name in names} == {"swdual", f"swdual-{__version__}.dist-info"}
    with tarfile.open(source) as files:
        held = {name.partition("/")[2] for name in files.getnames()}
    wanted = ("pyproject.toml", "conftest.py", "docs/packages/generate.py", "data/queries.fasta")
    assert {*wanted, "tests/test_packages.py", "LICENSE"} <= held
