"""Completion as shells ask for it: names of what options take, fast and without Numba."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest

from swdual import registry
from swdual.hits.fields import FIELDS
from swdual.sequences import matrices

CASES = {
    "swdual se": ["search", "serve"],
    "swdual mas": ["mask"],
    "swdual ex": ["extract"],
    "swdual completion z": ["zsh"],
    "swdual search --plan": ["--planner"],
    "swdual search --task tbl": ["tblastn", "tblastn-fast", "tblastx"],
    "swdual search --stats ": ["table", "fit", "none", "composition"],
    "swdual search --matrix blo": [x for x in matrices.names() if x.startswith("BLO")],
    "swdual search --device ": ["auto", "cpu", "cuda", "hybrid"],
    "swdual search --backend ref": ["reference"],
    "swdual search -f pa": ["pairwise", "paf", "parquet"],
    "swdual search -outfmt pairw": ["pairwise"],
    "swdual align a b -f js": ["json", "jsonl"],
    "swdual convert a b --to ar": ["arrow"],
    "swdual mask x.fa --method ": ["none", "seg", "dust", "tantan"],
    "swdual plan --planner al": ["all"],
    "swdual plan --planner ": [*registry.available("swdual.planners"), "all"],
    "swdual simulate t --policy fc": ["fcfs", "fcfs_malleable"],
    "swdual simulate t --policy fcfs,eas": ["fcfs,easy", "fcfs,easy_malleable"],
    "swdual simulate t --allocator ba": ["basic"],
    "swdual simulate t --platform cu": ["curie"],
    "swdual simulate t --metric makes": ["makespan"],
}
"""What stands on the line, and the words that are offered for its end."""


@pytest.fixture
def shell(tmp_path):
    """Run a script in a shell that finds the command under its name."""
    command = tmp_path / "bin" / "swdual"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m swdual "$@"\n')
    command.chmod(0o755)

    def run(script, program="bash", **more):
        path = shutil.which(program)
        if path is None:
            pytest.skip(f"there is no {program} here")
        variables = os.environ | {
            "PATH": f"{command.parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            [path, "-c", script],
            env=variables | more,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        return done.stdout

    return run


def words_of(line):
    """Return the words of a line as bash splits them; the last may be empty or an open quote."""
    words = line.split(" ")
    return words if '"' not in line else [*line[: line.index('"')].split(), line[line.index('"') :]]


IN_BASH = """
eval "$(swdual completion bash)"
while IFS= read -r -d '' words; do
    eval "COMP_WORDS=($words)"
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _swdual_completion swdual 2> /dev/null
    printf '%s\\n' "${COMPREPLY[@]}"
    printf 'end\\n'
done < lines
"""


def test_bash_is_offered_the_names(shell, tmp_path):
    """The function that the script defines fills COMPREPLY, also behind an open quote."""
    cases = CASES | {
        'swdual search -f "6 std qcov': ["6 std qcovhsp", "6 std qcovs", "6 std qcovus"]
    }
    (tmp_path / "lines").write_text("".join(f"{shlex.join(words_of(x))}\0" for x in cases))
    *found, rest = shell(IN_BASH).split("end\n")
    assert rest == ""
    for (line, expected), offered in zip(cases.items(), found, strict=True):
        assert sorted(offered.split("\n")[:-1]) == sorted(expected), line


def test_fish_is_offered_the_names(shell):
    """As fish itself completes a line."""
    lines = [line for line in CASES if not line.endswith(" ")]
    asked = "".join(f"complete -C {shlex.quote(line)}; echo end\n" for line in lines)
    *found, rest = shell(f"swdual completion fish | source\n{asked}", "fish").split("end\n")
    assert rest == ""
    for line, offered in zip(lines, found, strict=True):
        words = [each.split("\t")[0] for each in offered.splitlines()]
        assert set(CASES[line]) <= set(words), line


def test_zsh_is_offered_the_names(shell):
    """The script is one that zsh can read, and its function gets word, kind and help."""
    assert shell("swdual completion zsh > s.zsh; zsh -n s.zsh; echo $?", "zsh") == "0\n"
    for line in ("swdual search -f pa", "swdual simulate t --policy fcfs,eas"):
        asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words_of(line)) - 1)}
        found = shell("_SWDUAL_COMPLETE=zsh_complete swdual", "zsh", **asked).splitlines()
        assert found[0::3] == ["plain"] * len(CASES[line])
        assert sorted(found[1::3]) == sorted(CASES[line])


@pytest.mark.parametrize(
    "line",
    ["search ", "search -q ", "extract ", "search --matrix no", "simulate t --platform my/"],
)
def test_files_are_left_to_the_shell(shell, line):
    """Where an option or argument takes a file."""
    words = f"swdual {line}"
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words_of(words)) - 1)}
    found = shell("_SWDUAL_COMPLETE=bash_complete swdual", **asked)
    assert found.startswith("file,")


def test_every_field_can_be_completed(shell):
    """Those that are there already are not offered again."""
    asked = {"COMP_WORDS": 'swdual search -f "6 qseqid ', "COMP_CWORD": "3"}
    found = shell("_SWDUAL_COMPLETE=bash_complete swdual", **asked).splitlines()
    expected = {f"plain,6 qseqid {name}" for name in ("std", *FIELDS)} - {"plain,6 qseqid qseqid"}
    assert set(found) == expected


@pytest.mark.sample(4)
@pytest.mark.parametrize("line", list(CASES))
def test_completion_loads_little(tmp_path, line):
    """Tab must answer at once: no Numba, no Biopython, no data frames."""
    words = words_of(line)
    code = """
import json, os, sys
try:
    from swdual.cli import main
    main([])
except SystemExit:
    print(file=sys.stderr)
    print(json.dumps([*sys.modules]), file=sys.stderr)
"""
    asked = {
        "_SWDUAL_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | asked,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    modules = json.loads(done.stderr.splitlines()[-1])
    for heavy in ("numba", "llvmlite", "Bio", "pandas", "pyarrow", "matplotlib", "rich"):
        assert heavy not in modules


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_the_script_is_printed(run, shell_name):
    """It calls the command in the way that the command expects."""
    found = run("completion", shell_name)
    assert found.code == 0
    assert f"_SWDUAL_COMPLETE={shell_name}_complete" in found.out


def test_another_shell_is_refused(refuses):
    """With those that there are."""
    refuses(1, ["'bash', 'zsh', 'fish'"], "completion", "tcsh")
