"""What goes wrong: the exit code, one clear message, and nothing half-written."""

from __future__ import annotations

import os
import re
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time

import pytest

from swdual.cli import Terminated
from swdual.errors import EngineError
from swdual.master.search import Search
from swdual.runtime.compilation import COMPILING

NUCLEOTIDES = ">n\n" + "ACGTTGCA" * 10 + "\n"
needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
needs_sys = pytest.mark.skipif(not os.path.isdir("/sys/kernel"), reason="no read-only /sys")
needs_bytes = pytest.mark.skipif(sys.platform == "darwin", reason="file names must be UTF-8")


# Case 26: names that do not exist.


@pytest.mark.case(number=26)
@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["No such command 'serch'", "'search'"], ["serch", "q.fa", "t.fa"]),
        (["No such option '--matrx'", "'--matrix'"], ["search", "q.fa", "t.fa", "--matrx", "x"]),
        (["No such option '--max-target'", "'--max-target-seqs'"], ["search", "--max-target", "1"]),
        (
            ["unknown format 'tabulr'; did you mean tabular"],
            ["search", "-f", "tabulr", "q.fa", "t.fa"],
        ),
        (["lacks BLAST's format 9", "json"], ["search", "q.fa", "t.fa", "-f", "9"]),
        (["unknown format ''", "csv"], ["search", "q.fa", "t.fa", "-f", ""]),
        (
            ["unknown field 'qseqidd'; did you mean qseqid", "sseqid", "slen"],
            ["search", "q.fa", "t.fa", "-f", "6 qseqidd"],
        ),
        (
            ["unknown backend 'smid'; did you mean simd", "reference"],
            ["search", "q.fa", "t.fa", "--backend", "smid"],
        ),
        (["unknown backend '_pack'", "simd"], ["search", "q.fa", "t.fa", "--backend", "_pack"]),
        (["--device is 'gpu'", "auto, cpu, cuda"], ["search", "q.fa", "t.fa", "--device", "gpu"]),
        (["'--on-invalid'", "'replace'"], ["search", "q.fa", "t.fa", "--on-invalid", "replce"]),
        (["'--dbtype'", "'prot', 'nucl'"], ["makedb", "t.fa", "t.db", "--dbtype", "dna"]),
        (["'--dbtype'", "'prot', 'nucl'"], ["search", "q.fa", "t.fa", "--dbtype", "dna"]),
        (["'--stats'", "'table', 'fit', 'none'"], ["search", "q.fa", "t.fa", "--stats", "tabel"]),
        (["'--strand'", "'plus', 'minus'"], ["search", "q.fa", "t.fa", "--strand", "-1"]),
        (["'--align'", "'all', 'none'"], ["search", "q.fa", "t.fa", "--align", "best"]),
    ],
)
def test_a_name_that_does_not_exist_is_answered_with_those_that_do(refuses, words, arguments):
    """Command, option, format, field, backend or choice: exit code 1 and the nearest names."""
    refuses(1, words, *arguments)


@pytest.mark.case(number=11)
@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["queries", "database"], ["search"]),
        (["queries", "database"], ["search", "q.fa"]),
        (["one database"], ["search", "q.fa", "t.fa", "q.fa"]),
        (["standard input"], ["search", "-", "-"]),
        (["standard input"], ["search", "-q", "-", "-d", "-"]),
        (["FASTA", "database"], ["makedb"]),
        (["FASTA", "database"], ["makedb", "t.fa"]),
        (["FASTA"], ["makedb", "--db", "t.db"]),
        (["'-k'", "'x' is not a valid whole number"], ["search", "q.fa", "t.fa", "-k", "x"]),
        (["'-k'", "-1"], ["search", "q.fa", "t.fa", "-k", "-1"]),
        (["--min-raw-score", "-1"], ["search", "q.fa", "t.fa", "--min-raw-score", "-1"]),
        (["--threads", "0"], ["search", "q.fa", "t.fa", "--threads", "0"]),
        (["reward", "nucleotides"], ["search", "q.fa", "t.fa", "--reward", "1"]),
        (["--strand", "t.fa", "proteins"], ["search", "q.fa", "t.fa", "--strand", "minus"]),
        (["'-e'", "-1"], ["search", "q.fa", "t.fa", "-e", "-1"]),
        (["-e", "'x'"], ["search", "q.fa", "t.fa", "-e", "x"]),
        (["-e is nan"], ["search", "q.fa", "t.fa", "-e", "nan"]),
        (
            ["-e, --min-score", "--stats none"],
            ["search", "q.fa", "t.fa", "--stats", "none", "-e", "1"],
        ),
        (["--dbsize", "0"], ["search", "q.fa", "t.fa", "--dbsize", "0"]),
        (["--align none", "fields"], ["search", "q.fa", "t.fa", "--align", "none"]),
        (["--align none"], ["search", "q.fa", "t.fa", "--align", "none", "-f", "6 score btop"]),
    ],
)
def test_options_that_make_no_sense_are_refused(refuses, words, arguments):
    """Exit code 1, and the option or argument is named."""
    refuses(1, words, *arguments)


@pytest.mark.case(number=18)
@pytest.mark.parametrize("option", ["--gapopen", "--gapextend"])
@pytest.mark.parametrize("price", ["-1", "-11", "1000000000000"])
def test_an_impossible_gap_price_is_refused(refuses, option, price):
    """Negative prices are a usual mistake: the message shows how to write them."""
    words = [f"{option} is {price}", "11 and 1, not -11 and -1"]
    refuses(1, words, "search", "q.fa", "t.fa", option, price, "-o", "hits.tsv")


# Queries and databases that cannot be used.


@pytest.mark.parametrize(
    ("name", "cause"), [("none.fa", "No such file"), ("scratch", "Is a directory")]
)
def test_queries_that_cannot_be_opened_are_an_input_error(refuses, name, cause):
    """Missing, or a folder: exit code 1."""
    refuses(1, [f"{name}: ", cause], "search", name, "t.fa", "-o", "hits.tsv")
    refuses(1, [f"{name}: ", cause], "makedb", name, "x.db")


def test_queries_that_cannot_be_read_are_an_input_error(refuses):
    """An error while reading is the query file's, not the output's."""
    words = ["/proc/self/mem: ", "cannot be read"]
    refuses(1, words, "search", "/proc/self/mem", "t.fa", "-o", "hits.tsv")
    refuses(1, words, "makedb", "/proc/self/mem", "x.db")


@pytest.mark.case(number=8)
@pytest.mark.parametrize("kind", ["prot", "nucl"])
def test_the_type_that_is_named_is_taken(run, here, kind):
    """Nucleotides may be read as proteins, with a warning."""
    (here / "n.fa").write_text(NUCLEOTIDES)
    outcome = run("makedb", "n.fa", "n.db", "--dbtype", kind)
    assert outcome.code == 0
    assert ("looks like nucleotides" in outcome.err) == (kind == "prot")
    assert f"type        {kind}" in run("info", "n.db").out


@pytest.mark.case(number=8)
def test_a_second_file_of_nucleotides_is_refused_too(refuses, here):
    """Every file of a database is looked at."""
    (here / "n.fa").write_text(NUCLEOTIDES)
    refuses(1, ["n.fa: ", "nucleotides", "--dbtype prot"], "makedb", "t.fa", "n.fa", "x.db")


@pytest.mark.case(number=8)
def test_nucleotide_queries_are_no_proteins(refuses, run, here):
    """They are translated, and the message says how to have them read as proteins.

    Where the task compares proteins, they are refused: exit code 1, and the message names the
    database.
    """
    (here / "n.fa").write_text(NUCLEOTIDES)
    outcome = run("search", "n.fa", "t.fa")
    assert outcome.code == 0
    assert "are translated; for proteins use --dbtype prot\n" in outcome.err
    words = ["nucleotides", "t.fa", "proteins", "--task blastx", "--dbtype prot"]
    refuses(1, words, "search", "n.fa", "t.fa", "-o", "hits.tsv", "--task", "blastp")


@pytest.mark.case(number=8)
@pytest.mark.parametrize("options", [(), ("--on-invalid", "replace"), ("--on-invalid", "skip")])
def test_protein_queries_are_no_nucleotides(refuses, run, here, options):
    """The database is translated, and a message says so.

    Where the task compares nucleotides, they are refused: exit code 1, also when invalid letters
    would be replaced or left out.
    """
    (here / "n.fa").write_text(NUCLEOTIDES)
    assert run("makedb", "n.fa", "n.db", "--dbtype", "nucl").code == 0
    outcome = run("search", "q.fa", "n.db", *options)
    assert outcome.code == 0
    assert "the database is translated\n" in outcome.err
    given = ("search", "q.fa", "n.db", "-o", "hits.tsv", "--task", "blastn", *options)
    refuses(1, ["q.fa", "nucleotide"], *given)


@pytest.mark.case(number=8)
def test_nucleotides_are_told_from_proteins(run, here):
    """At least 90 % A, C, G, T, U and N; the message says what was taken, and how to change it."""
    (here / "n.fa").write_text(NUCLEOTIDES)
    words = ("-f", "6 qseqid sseqid score")
    outcome = run("search", "n.fa", "n.fa", *words)
    assert (outcome.code, outcome.out) == (0, "n\tn\t160\n")
    assert "n.fa: read as nucleotides; for proteins use --dbtype prot\n" in outcome.err
    assert run("search", "n.fa", "-", *words, stdin=NUCLEOTIDES.encode()).out == outcome.out
    assert run("makedb", "n.fa", "n.db").code == 0
    assert "type        nucl" in run("info", "n.db").out


@pytest.mark.case(number=8)
def test_a_database_of_another_type_than_said_is_refused(refuses, run):
    """A database knows its type: --dbtype cannot change it."""
    assert run("makedb", "t.fa", "t.db").code == 0
    words = ["t.db holds proteins, but --dbtype nucl was given"]
    refuses(1, words, "search", "q.fa", "t.db", "--dbtype", "nucl")


# Case 24: outputs that cannot be written.


@pytest.mark.case(number=24)
@pytest.mark.parametrize(
    ("arguments", "old"),
    [
        (("search", "q.fa", "t.fa", "-o", "old"), b"precious\tprecious\n"),
        (("makedb", "t.fa", "old"), b"SWDUALDB precious"),
        (("synth", "1000", "-o", "old"), b">precious\n"),
    ],
    ids=["search", "makedb", "synth"],
)
def test_an_existing_output_is_replaced_only_by_force(refuses, run, here, arguments, old):
    """Without --force: exit code 6, and the file stays as it was."""
    (here / "old").write_bytes(old)
    refuses(6, ["old: ", "exists", "--force"], *arguments)
    assert run(*arguments, "--force").code == 0
    assert b"precious" not in (here / "old").read_bytes()
    assert sorted(os.listdir(here)) == ["old", "q.fa", "scratch", "t.fa"]


def test_an_existing_output_is_noticed_before_the_search(refuses, here, monkeypatch):
    """Nobody waits for hours to hear that the file exists."""
    (here / "old").write_text("precious")
    monkeypatch.setattr(Search, "results", None)
    refuses(6, ["old: ", "exists"], "search", "q.fa", "t.fa", "-o", "old")


@pytest.mark.case(number=24)
@pytest.mark.parametrize(
    ("output", "cause"),
    [
        ("none/x", "No such file or directory"),
        ("q.fa/x", "Not a directory"),
        ("scratch", "Is a directory"),
        ("x" * 300, "File name too long"),
        pytest.param("/sys/x", "cannot be written", marks=needs_sys),
        pytest.param("/dev/full", "No space left on device", marks=needs_full),
    ],
)
@pytest.mark.parametrize(
    "arguments",
    [("search", "q.fa", "t.fa", "-o"), ("makedb", "t.fa"), ("synth", "1000", "--force", "-o")],
    ids=lambda words: words[0],
)
def test_an_output_that_cannot_be_written_is_an_output_error(refuses, arguments, output, cause):
    """Exit code 6, the file and the system's reason."""
    if arguments[0] == "synth" and output == "scratch":
        refuses(1, ["'scratch' is a directory"], *arguments, output)  # click looks at it first
        return
    if arguments[0] == "makedb" and output == "/dev/full":
        cause = "Not a regular file"
    refuses(6, [output, cause], *arguments, output)


@pytest.mark.case(number=24)
@pytest.mark.parametrize(
    "arguments", [("makedb", "many.fa"), ("synth", "100k", "-o")], ids=lambda words: words[0]
)
def test_a_disk_that_is_full_halfway_is_an_output_error(spawn, here, arguments):
    """A quota, here of ten kilobytes: exit code 6, file and cause; nothing of it is left."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    (here / "many.fa").write_text("".join(f">t{k}\nMKVLAWGG\n" for k in range(2000)))
    before = sorted(here.rglob("*"))
    outcome = spawn(*arguments, "x", preexec_fn=limit, env={"SWDUAL_CACHE_DIR": "/dev/null/x"})
    assert (outcome.code, outcome.out) == (6, "")
    assert outcome.err == "swdual: error: x: cannot be written: File too large\n"
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize("command", ["search", "makedb"])
def test_a_log_that_cannot_be_written_is_an_output_error(refuses, command):
    """The file for messages is an output as well."""
    arguments = {"search": ("q.fa", "t.fa"), "makedb": ("t.fa", "x.db")}[command]
    refuses(6, ["none/log: ", "No such file"], command, *arguments, "--log", "none/log")


@pytest.mark.case(number=24)
@needs_full
@pytest.mark.parametrize(
    "arguments", [("search", "q.fa", "t.fa"), ("list",), ("--version",)], ids=lambda words: words[0]
)
def test_a_full_disk_behind_standard_output_is_an_output_error(spawn, arguments):
    """Exit code 6 and one line, no traceback."""
    with open("/dev/full", "wb") as full:
        outcome = spawn(*arguments, stdout=full, env={"PYTHONUNBUFFERED": ""})
    assert outcome.code == 6
    (line,) = outcome.err.splitlines()
    assert line.startswith("swdual: error: standard output: ")
    assert line.endswith("No space left on device")


@pytest.mark.case(number=24)
@pytest.mark.parametrize("file", [None, "other"])
def test_an_error_of_another_file_is_not_blamed_on_standard_output(run, monkeypatch, file):
    """The system does not always say which file; then the message says how to find it."""

    def fail(*_, **__):
        raise OSError(28, "No space left on device", file)

    monkeypatch.setattr("swdual.sequences.matrices.names", fail)
    outcome = run("list")
    assert outcome.code == 6
    name, hint = ("other: ", "") if file else ("", "; run again with -v to see where")
    assert outcome.err == f"swdual: error: {name}No space left on device{hint}\n"


@pytest.mark.case(number=24)
@pytest.mark.sample(1)
@pytest.mark.parametrize("format_", ["6", "csv", "jsonl"])
def test_a_reader_that_leaves_ends_the_search_quietly(here, format_):
    """As with any filter, `| head -1` is no error: exit code 141 and not a word of trouble."""
    (here / "many.fa").write_text("".join(f">t{k}\nMKVLAWGG\n" for k in range(20_000)))
    options = ["-k0", "--stats", "none", "-f", format_]
    command = [sys.executable, "-m", "swdual", "search", "q.fa", "many.fa", *options]
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}  # as in a user's shell
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=buffered
    ) as process:
        assert process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(300) == 141
    assert err.replace(f"swdual: {COMPILING}\n".encode(), b"") == b""


@pytest.mark.case(number=24)
@pytest.mark.sample(1)
def test_a_reader_that_leaves_ends_a_search_that_writes_nothing(here):
    """Though the next result never comes, and no other file is left: not even a part of one."""
    code = (
        "import threading\n"
        "from swdual.cli import main\n"
        "from swdual.master.context import SearchContext\n"
        "score = SearchContext.score\n"
        "def wait(context, query, number, *rest):\n"
        "    if number > 0:\n"
        "        threading.Event().wait(600)\n"
        "    return score(context, query, number, *rest)\n"
        "SearchContext.score = wait\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code, "search", "q.fa", "t.fa", "-p2", "--trace", "t.json"]
    before = sorted(os.listdir(here))
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=buffered
    ) as process:
        assert process.stdout.readline()
        process.stdout.close()
        process.stderr.read()
        assert process.wait(300) == 141
    assert sorted(os.listdir(here)) == before


@pytest.mark.case(number=24)
def test_a_closed_standard_output_is_an_output_error(spawn):
    """`>&-` leaves nothing to write to: exit code 6."""
    outcome = spawn("search", "q.fa", "t.fa", stdout=None, preexec_fn=lambda: os.close(1))
    assert outcome.code == 6, outcome.err
    assert "internal error" not in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.case(number=11)
def test_a_closed_standard_input_is_an_input_error(spawn):
    """`<&-` leaves nothing to read: exit code 1."""
    outcome = spawn("search", "-", "t.fa", stdin=None, preexec_fn=lambda: os.close(0))
    assert outcome.code == 1, outcome.err
    assert "standard input" in outcome.err
    assert "internal error" not in outcome.err


def test_a_closed_standard_error_does_not_matter(spawn):
    """`2>&-` only means that nobody reads the messages."""
    outcome = spawn("search", "q.fa", "t.fa", stderr=None, preexec_fn=lambda: os.close(2))
    assert outcome.code == 0
    assert outcome.out.startswith("q1\tt1\t100.000\t14")


def test_a_database_is_not_written_to_standard_output(refuses):
    """Its header is written last, so a stream cannot take it; and a terminal should not."""
    outcome = refuses(1, ["standard output"], "makedb", "t.fa", "-")
    assert "Illegal seek" not in outcome.err


@pytest.mark.parametrize("target", ["pipe", "/dev/null"])
def test_a_database_is_not_written_to_a_pipe_or_a_device(run, here, target):
    """A database must be a regular file; anything else is refused before it is opened."""
    os.mkfifo(here / "pipe")
    reader = os.open(here / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        outcome = run("makedb", "t.fa", target)
        assert outcome.code in (1, 6)
        assert f"{target}: " in outcome.err
        assert os.read(reader, 100) == b""
    finally:
        os.close(reader)


# Ends that nobody asked for.


@pytest.mark.case(number=21)
@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (Terminated(), 143, "terminated"),
        (MemoryError(), 4, "out of memory"),
        (EngineError("lane 3 is on fire"), 3, "lane 3 is on fire"),
        (RuntimeError("surprise"), 255, "internal error: RuntimeError: surprise"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_an_interrupted_search_leaves_its_journal(run, here, monkeypatch, error, code, words):
    """Whatever stops it between two queries: no output, a line of words, and one how to go on."""
    results = Search.results

    def interrupted(self):
        yield next(results(self))
        raise error

    monkeypatch.setattr(Search, "results", interrupted)
    before = sorted(here.rglob("*"))
    outcome = run("search", "q.fa", "t.fa", "-o", "hits.tsv")
    assert outcome.code == code
    said, remedy = outcome.err.splitlines()
    assert said.startswith(f"swdual: error: {words}")
    assert "kept in hits.tsv.journal" in remedy
    assert "--resume" in remedy
    assert {*here.rglob("*")} - {*before} == {here / "hits.tsv.journal"}


def test_a_traceback_is_shown_only_on_request(run, monkeypatch):
    """With -v an internal error shows where it came from."""
    monkeypatch.setattr(Search, "results", None)
    plain = run("search", "q.fa", "t.fa")
    told = run("search", "q.fa", "t.fa", "-v")
    assert (plain.code, told.code) == (255, 255)
    assert "Traceback" not in plain.err
    assert "run again with -v" in plain.err
    assert "Traceback" in told.err


@pytest.mark.case(number=21)
def test_sigterm_ends_a_process_that_reads_with_143(here):
    """SIGTERM while waiting for input: exit code 143, one line, nothing left."""
    command = [sys.executable, "-m", "swdual", "makedb", "-", "x.db", "--dbtype", "prot"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    before = sorted(here.rglob("*"))
    with subprocess.Popen(command, **pipes) as process:
        while len(os.listdir(here)) == len(before):
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.3)  # mostly, it waits for input by now
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 143
        assert re.fullmatch(rb"swdual: error: terminated[^\n]*\n", process.stderr.read())
    assert sorted(here.rglob("*")) == before


LOST_SIGNAL = """
import signal, sys, threading
import swdual.cli.info
from swdual.cli import main

class Signalled:
    times = 2

    def __del__(self):
        if Signalled.times:
            Signalled.times -= 1
            signal.raise_signal({number})

def wait(*_, **__):
    Signalled(), Signalled()
    threading.Event().wait()

swdual.cli.info.command.callback = wait
sys.argv = ["swdual", "info", "t.fa"]
main()
"""


@pytest.mark.case(number=21)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_that_comes_in_a_destructor_ends_the_command(here, number, code):
    """Python drops the exceptions of destructors, such as those of Dask's futures."""
    script = LOST_SIGNAL.format(number=int(number))
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == code, done.stderr
    assert done.stderr in ("swdual: error: interrupted\n", "swdual: error: terminated\n")


LATE_WORKERS = """
import atexit, sys, threading
import numpy as np
from swdual.cli import main

def work():
    numbers = np.random.default_rng(1).integers(0, 1 << 30, 20000)
    while True:
        np.unique(numbers)

for number in range(3):
    threading.Thread(target=work, name=f"swdual cpu {number}", daemon=True).start()
atexit.register(print, "cleaned up", file=sys.stderr)
sys.argv = ["swdual", *sys.argv[1:]]
main()
"""


@pytest.mark.case(number=21)
@pytest.mark.parametrize(
    ("words", "code"), [(("--version",), 0), (("info", "none.db"), 2), (("search",), 1)]
)
def test_workers_that_do_not_stop_in_time_change_no_exit_code(here, words, code):
    """The end of the interpreter would end such a thread in C++ code of NumPy, and abort."""
    done = subprocess.run(
        [sys.executable, "-c", LATE_WORKERS, *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == code, done.stderr
    assert done.stderr.splitlines()[-1] == "cleaned up"
    assert (code == 0) == ("swdual" in done.stdout)


def test_a_machine_without_a_temporary_folder_is_no_fault_of_the_output(run, monkeypatch):
    """Where nothing can be written, the search works, or says what it needs."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/dev/null/x"])
    outcome = run("search", "q.fa", "t.fa")
    if outcome.code == 0:
        assert outcome.out.startswith("q1\tt1\t100.000\t14")
    else:
        assert outcome.code == 1
        assert "TMPDIR" in outcome.err
        assert "cannot be written" not in outcome.err


# Case 30: messages about odd names.


@pytest.mark.case(number=30)
@needs_bytes
@pytest.mark.parametrize("name", [b"\xff\xe9.fa", "t\u00e9 x.fa".encode(), b"two  words.fa"])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_an_error_about_a_file_with_an_odd_name_is_one_line(spawn, here, name, locale):
    """Whatever its name and the locale, the message is printed and the code is right."""
    (here / os.fsdecode(name)).write_bytes(b">a\nM1V\n")
    outcome = spawn("search", name, "t.fa", env={"LC_ALL": locale, "PYTHONUTF8": "0"})
    assert outcome.code == 1
    assert ":2: '1' is not an amino acid letter" in outcome.err
    assert "Traceback" not in outcome.err


def test_the_rights_of_the_output_are_those_of_any_new_file(run, here):
    """The temporary file is private; the finished one obeys the umask."""
    before = os.umask(0o027)
    try:
        assert run("search", "q.fa", "t.fa", "-o", "hits.tsv").code == 0
        assert run("makedb", "t.fa", "t.db").code == 0
    finally:
        os.umask(before)
    for name in ("hits.tsv", "t.db"):
        assert stat.S_IMODE((here / name).stat().st_mode) == 0o640
