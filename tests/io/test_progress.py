"""Progress bars on a real terminal of any width, in a notebook, and where there is none."""

from __future__ import annotations

import fcntl
import inspect
import math
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

import swdual
from swdual.io import progress
from swdual.io.progress import Bar, Reading, Remaining, layout
from swdual.master.compilation import COMMON, COMPOSITION, PLAIN
from swdual.master.remaining import RemainingTime
from swdual.runtime.compilation import COMPILING, compilation

PATIENCE = 100
"""Seconds after which something that has not come is a failure."""

BEGIN = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes a program's terminal its own, so that Ctrl-C reaches it even if we ignore that."""

BAR = """
import logging, sys
from swdual.io.progress import progress_bar
logger = logging.getLogger("swdual")
logging.basicConfig(stream=sys.stderr, format="%(message)s")

def until_seen():
    sys.stdin.readline()
"""


class Terminal:
    """A program on a pseudo-terminal of its own, and what is on its screen."""

    def __init__(self, command, columns, stdout=None, echo=False, environment=()):
        pyte = pytest.importorskip("pyte")
        self.screen = pyte.Screen(columns, 24)
        self._stream = pyte.ByteStream(self.screen)
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

        if not echo:
            settings = termios.tcgetattr(slave)
            settings[3] &= ~termios.ECHO
            termios.tcsetattr(slave, termios.TCSANOW, settings)
        self.process = subprocess.Popen(
            [sys.executable, "-c", BEGIN, *command],
            stdin=slave,
            stdout=slave if stdout is None else stdout,
            stderr=slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", **dict(environment)},
        )
        os.close(slave)

    @property
    def lines(self):
        """What is on the screen, without blank lines and ends of lines."""
        return [line.rstrip() for line in self.screen.display if line.strip()]

    def read(self):
        """Take in what the program has written; return whether there may be more."""
        ready, _, _ = select.select([self._master], [], [], 0.05)
        if not ready:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:  # nobody has the terminal any more
            return False
        self._stream.feed(data)
        return bool(data)

    def wait(self, condition):
        """Wait until the lines of the screen are as they should be."""
        end = time.monotonic() + PATIENCE
        while not condition(self.lines):
            assert self.read() or condition(self.lines), self.lines
            assert time.monotonic() < end, self.lines

    def type(self, text):
        """Press some keys."""
        os.write(self._master, text.encode())

    def finish(self):
        """Wait until the program has ended; return its exit code."""
        end = time.monotonic() + PATIENCE
        while self.read():
            assert time.monotonic() < end, self.lines
            if self.process.poll() is not None and not select.select([self._master], [], [], 0)[0]:
                break
        return self.process.wait(PATIENCE)

    def close(self):
        """End what is left."""
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.fixture
def terminal():
    """Run a Python program on a terminal."""
    opened = []

    def run(program, columns=80, **options):
        command = [sys.executable, *(program if isinstance(program, list) else ["-c", program])]
        opened.append(Terminal(command, columns, **options))
        return opened[-1]

    yield run
    for each in opened:
        each.close()


def bars(lines):
    """Return the lines that have a bar, or what is left of one."""
    return [line for line in lines if "━" in line or "╸" in line or "left" in line]


def has_bar(lines):
    """Return whether the last line is a bar."""
    return bool(lines) and bars(lines) == [lines[-1]]


@pytest.mark.sample(1)
@pytest.mark.parametrize("columns", [80, 45, 30])
def test_results_and_messages_have_lines_of_their_own_above_the_bar(terminal, columns):
    """Results, messages, even a line that is not ended yet: none is glued to a bar."""
    program = f"""{BAR}
with progress_bar("searching", "GCUPS", 1e9, shown=True) as bar:
    bar(4_000_000_000, 10_000_000_000)
    for text in ("first\\tresult\\n", "a second one, ", "which goes on\\n"):
        until_seen()
        with bar.pause():
            sys.stdout.write(text)
            sys.stdout.flush()
    until_seen()
    logger.warning("a warning")
    until_seen()
print("the end")
"""
    child = terminal(program, columns)
    first = "first   result"
    for above in (
        [],
        [first],
        [first, "a second one,"],
        [first, "a second one,", "which goes on"],
        [first, "a second one,", "which goes on", "a warning"],
    ):
        child.wait(lambda lines, above=above: has_bar(lines) and lines[:-1] == above)
        child.type("\r")
    assert child.finish() == 0
    assert child.lines == [first, "a second one,", "which goes on", "a warning", "the end"]


@pytest.mark.process
@pytest.mark.smoke(2)
@pytest.mark.parametrize(
    ("key", "code", "said"),
    [
        ("\x03", 130, "swdual: error: interrupted"),
        (signal.SIGTERM, 143, "swdual: error: terminated"),
    ],
)
@pytest.mark.parametrize("columns", [80, 60, 45, 30])
def test_nothing_of_a_bar_is_left_after_an_interrupt(terminal, tmp_path, columns, key, code, said):
    """Ctrl-C, which the terminal echoes, and SIGTERM end a search; one line tells so."""
    (tmp_path / "q.fa").write_text(">q\n" + "MKVLAWGGHERDEF" * 200)
    targets = (f">t{number}\n{'MKVLAWGGHERDEF' * 20}\n" for number in range(2000))
    (tmp_path / "t.fa").write_text("".join(targets))
    command = ["-m", "swdual", "search", tmp_path / "q.fa", tmp_path / "t.fa"]
    child = terminal([*command, "--backend", "reference"], columns, echo=True)
    # The bar of reading has no percentage; between the two there is none, and ^C stays.
    child.wait(lambda lines: any("%" in line for line in lines))
    if isinstance(key, str):
        child.type(key)
    else:
        child.process.send_signal(key)
    assert child.finish() == code
    assert child.lines == [said]


def test_prints_between_results_go_where_the_user_sends_them(terminal, tmp_path):
    """With a bar on the terminal, what is printed is in the file that standard output is."""
    program = """
import swdual
queries = {f"q{number}": "MKVLAWGGHERMKVLAW" for number in range(5)}
for result in swdual.iter_search(queries, {"t": "MKVLAWGGHERMKV"}, progress=True):
    print("RESULT", result.query.id)
print("DONE")
"""
    with open(tmp_path / "out.txt", "wb") as file:
        assert terminal(program, stdout=file).finish() == 0
    said = (tmp_path / "out.txt").read_text().splitlines()
    assert said == [*(f"RESULT q{number}" for number in range(5)), "DONE"]


def test_the_bar_stays_while_results_go_to_a_file(terminal, tmp_path):
    """Where no result can disturb it, it need not be taken away."""
    program = f"""{BAR}
with progress_bar("searching", "GCUPS", 1e9, shown=True) as bar:
    with bar.pause():
        print("a result", flush=True)
        until_seen()
"""
    with open(tmp_path / "out.txt", "wb") as file:
        child = terminal(program, stdout=file)
        child.wait(has_bar)
        child.type("\r")
        assert child.finish() == 0
    assert child.lines == []
    assert (tmp_path / "out.txt").read_text() == "a result\n"


def test_no_bar_where_nobody_looks_on(spawn):
    """Standard error that is a pipe has lines only."""
    outcome = spawn("search", "q.fa", "t.fa")
    assert "\r" not in outcome.err
    assert "\x1b" not in outcome.err


@pytest.mark.sample(1)
@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}])
def test_a_bar_respects_what_the_terminal_can_do(terminal, environment):
    """A terminal without control codes has no bar, and NO_COLOR one without colours."""
    program = f"""{BAR}
with progress_bar("searching", "GCUPS", 1e9, shown=True) as bar:
    bar(4, 10)
    until_seen()
"""
    child = terminal(program, environment=environment)
    if environment["TERM"] == "dumb":
        child.type("\r")
    else:
        child.wait(has_bar)
        row = child.screen.buffer[0]
        assert {row[column].fg for column in range(79)} == {"default"}
        child.type("\r")
    assert child.finish() == 0
    assert child.lines == []


def test_an_interrupt_during_a_compilation_is_not_lost():
    """It takes effect when the kernel is compiled."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    compiled = []

    def compile_one():
        with compilation.running():
            signal.raise_signal(signal.SIGINT)
            compiled.append(True)

    try:
        with pytest.raises(KeyboardInterrupt):
            compile_one()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert compiled == [True]
    assert not compilation.is_running


LONG = Reading("searching", 0.987, "1,234 GCUPS", "9 min 59 s, 23 h 59 min left")
COMPILATION = Reading(COMPILING, 0.4, "", "2 s, 3 s left")
UNKNOWN = Reading("building the database", None, "123 M residues/s", "1 min 20 s")


@pytest.mark.sample(40)
@pytest.mark.parametrize("reading", [LONG, COMPILATION, UNKNOWN])
@pytest.mark.parametrize("columns", range(28, 140))
def test_a_line_is_never_wider_than_the_terminal(reading, columns):
    """Speed, then bar are left out where there is no room; the times are never cut."""
    before, width, after = layout(reading, columns)
    assert len(before) + width + len(after) <= columns
    assert after.endswith(reading.times)
    if reading.speed and reading.speed in after:
        assert width >= progress.MIN_BAR_WIDTH


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def wait(seconds):
        now[0] += seconds

    return wait


def test_times_and_speeds_read_as_such(clock):
    """Elapsed and remaining time, and a unit of speed."""
    bar = Bar("easy, basic", "jobs/s", 1)
    clock(80)
    bar(4000, 40_000)
    assert bar.read() == Reading("easy, basic", 0.1, "50.0 jobs/s", "1 min 20 s, 12 min left")


def test_what_was_done_before_is_no_part_of_the_speed(clock):
    """A resumed search shows the share of all that is done, and how fast the rest is done."""
    bar = Bar("searching", "GCUPS", 1e9)
    bar.ask(lambda: Remaining(0.75, 25.0, 0.7))
    bar(70 * 10**9, 100 * 10**9)
    clock(5)
    assert bar.read() == Reading("searching", 0.75, "1.0 GCUPS", "5 s, 25 s left")
    bar.ask(lambda: Remaining(0.7, math.nan, 0.7))
    assert bar.read() == Reading("searching", 0.7, "0.0 GCUPS", "5 s")


def test_a_resumed_search_skips_what_its_journal_holds(tmp_path, monkeypatch):
    """The cells of finished tasks are told to the bar before new ones are."""
    skipped = []
    monkeypatch.setattr(RemainingTime, "skip", lambda self, done: skipped.append(done))
    queries = {"first": "MKVLAWGGHERMKV", "second": "ACDEFGHIKLMNPQ"}
    options = {"journal": tmp_path / "journal", "threads": 1, "backend": "reference"}
    results = swdual.iter_search(queries, {"t": "MKVLAWGGHERMKV"}, **options)
    next(results)
    results.close()
    assert skipped == [0]
    swdual.search(queries, {"t": "MKVLAWGGHERMKV"}, resume=True, **options)
    assert skipped[1] >= 14 * 14


def test_compilation_is_shown_and_is_no_part_of_the_time(clock):
    """While kernels are compiled the bar says so; neither speed nor times count it."""
    bar = Bar("easy, basic", "jobs/s", 1)
    with compilation.running():
        clock(7)
        assert bar.read() == Reading(COMPILING, None, "", "7 s")
    clock(10)
    bar(500, 1000)
    assert bar.read() == Reading("easy, basic", 0.5, "50.0 jobs/s", "10 s, 10 s left")


@pytest.mark.process
@pytest.mark.parametrize(("comp_based_stats", "kernels"), [(0, PLAIN), (2, COMPOSITION)])
def test_the_first_search_says_that_it_compiles_and_does_not_count_it(
    tmp_path, comp_based_stats, kernels
):
    """On a machine without compiled kernels; it compiles none itself. The next one finds all."""
    program = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
import swdual
from swdual.runtime.compilation import compilation
swdual.makedb(sys.argv[1], sys.argv[2], force=True)
before = compilation.seconds
mode = int(sys.argv[3])
found = swdual.iter_search({"q": "MKVLAWGGHERMKV" * 30}, sys.argv[2], comp_based_stats=mode)
hits = [hit.id for result in found for hit in result]
print(compilation.seconds == before, hits)
"""
    word = "MKVLAWGGHERMKV"  # scores of 32 bits, and of 16
    (tmp_path / "t.fa").write_text(f">t\n{word * 30}\n>part\n{word * 10}\n")
    files = [tmp_path / "t.fa", tmp_path / "t.db"]
    command = [sys.executable, "-c", program, *files, str(comp_based_stats)]
    environment = {**os.environ, "SWDUAL_CACHE_DIR": os.fspath(tmp_path / "cache")}

    def run():
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=True
        )
        return done.stdout.splitlines()

    assert run() == [COMPILING, "True ['t', 'part']"]
    count = len([*(tmp_path / "cache").rglob("*.native")])
    expected = COMMON.kernels + kernels.kernels
    assert abs(count - expected) <= 3  # it depends on the width of the registers
    assert run() == ["True ['t', 'part']"]
    assert len([*(tmp_path / "cache").rglob("*.native")]) == count


def test_makedb_draws_a_bar_as_search_does(terminal, tmp_path):
    """Python's `makedb` takes True, and its signature shows the default."""
    assert inspect.signature(swdual.makedb).parameters["progress"].default is False
    (tmp_path / "t.fa").write_text(">t\nMKVLAW\n")
    program = f"""
import swdual
from swdual.io import progress
drawn = []
class Spy(progress.Bar):
    def __call__(self, done, total):
        drawn.append((self._what, done, total))
    def close(self):
        pass
progress._kind = lambda: Spy
swdual.makedb({os.fspath(tmp_path / "t.fa")!r}, {os.fspath(tmp_path / "t.db")!r}, progress=True)
print(drawn)
"""
    child = terminal(program)
    assert child.finish() == 0
    assert child.lines == ["[('building the database', 6, None)]"]


def test_a_notebook_has_a_bar_without_widgets(tmp_path):
    """The bar is an output that is replaced and emptied; what is printed is a stream."""
    source = """
from swdual.io import progress
progress.FIRST_SECONDS = progress.NOTEBOOK_SECONDS = 0
with progress.progress_bar("searching", "GCUPS", 1e9, shown=True) as bar:
    bar(2, 4)
    print("said by the user")
    told = bar.read()
"""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    nbclient.NotebookClient(
        notebook, timeout=PATIENCE, resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown, said = notebook.cells[0].outputs
    assert shown["data"] == {"text/plain": "", "text/html": ""}
    assert (said["output_type"], said["text"]) == ("stream", "said by the user\n")


def test_a_bar_of_a_notebook_is_html_that_every_browser_draws(monkeypatch):
    """A progress element, and the same in words."""
    pytest.importorskip("IPython")
    drawn = []
    monkeypatch.setattr("IPython.display.display", lambda data, **_: drawn.append(data))
    bar = progress._NotebookBar("fcfs < easy", "jobs/s", 1)
    bar._began -= 10
    bar._drawn -= 10
    bar(50, 100)
    (shown,) = drawn
    assert '<progress value="0.500"></progress>' in shown["text/html"]
    assert "fcfs &lt; easy" in shown["text/html"]
    assert "50%  5.0 jobs/s  10 s, 10 s left" in shown["text/plain"]


def test_a_notebook_shows_the_first_results_of_a_running_search(monkeypatch):
    """Under the bar: the first at once, then the first few and the last one."""
    pytest.importorskip("IPython")
    drawn = []

    class Handle:
        update = staticmethod(lambda data, **_: drawn.append(data))

    def display(data, **_):
        drawn.append(data)
        return Handle

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(progress, "_kind", lambda: progress._NotebookBar)
    monkeypatch.setattr(progress, "NOTEBOOK_SECONDS", 0)
    queries = {f"q<{k}>": "MKVLAWGGHERWCDEF" for k in range(9)} | {"none": "WWWW"}
    found = []
    for result in swdual.iter_search(queries, {"t": "MKVLAWGGHERW"}, progress=True, threads=1):
        shown = [each["text/html"] for each in drawn if "best hit" in each["text/html"]]
        assert shown, "nothing is shown when the first result is there"
        if not found:
            assert "q&lt;0&gt;" in shown[-1]
            assert "q&lt;1&gt;" not in shown[-1]
        found.append(result.query.id)
    assert found == [*queries]
    assert drawn[-1] == {"text/plain": "", "text/html": ""}
    last = [each["text/html"] for each in drawn if "more</" in each["text/html"]][-1]
    names = [f"q&lt;{k}&gt;" in last for k in range(9)]
    assert names[: progress.FIRST_ROWS] == [True] * progress.FIRST_ROWS
    assert not any(names[progress.FIRST_ROWS : -1])


def test_results_are_described_only_where_they_are_shown():
    """A terminal has no room for them, and their cells take time."""

    def never():
        raise AssertionError

    Bar("searching", "GCUPS", 1e9).tell(("query",), never)
