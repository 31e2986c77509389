"""
Resume a search that was killed
===============================

A search with an output file keeps a journal of finished tasks. What is lost if the process is
killed?
"""

# %%
# Kill a search, and resume it
# ----------------------------
#
# The commands are those of a shell. While they run, we look at the size of the journal. One search
# runs to its end; another gets SIGKILL when its journal has half of that size, and is resumed.

import contextlib
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt

plt.style.use("swdual.charts")

SWDUAL = sys.executable, "-m", "swdual"


def cpu_seconds(process):
    """Return the CPU time of a process, as Linux tells it."""
    status = Path(f"/proc/{process.pid}/stat").read_text()
    user, system = status.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def search(output, *options, kill_at=math.inf):
    """Run a search; return CPU times, and the size of the journal at each."""
    files = folder / "queries.fasta", folder / "proteins.fasta"
    command = [*SWDUAL, "search", *files, "-p", "1", "-o", output, *options]
    command += ["--comp-based-stats", "0", "-f", "6 qseqid sseqid score evalue"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    journal, samples = output.with_name(output.name + ".journal"), []
    while process.poll() is None:
        if journal.exists():
            # The command deletes it in the end.
            with contextlib.suppress(FileNotFoundError):
                samples.append((cpu_seconds(process), journal.stat().st_size))
            if samples and samples[-1][1] >= kill_at:
                process.kill()
        time.sleep(0.005)
    return samples


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for file, size in (("proteins.fasta", "650k"), ("queries.fasta", "100k")):
        command = [*SWDUAL, "synth", size, "--seed", "1", "-o", folder / file]
        subprocess.run(command, check=True, capture_output=True)
    whole = search(folder / "whole.tsv")
    largest = max(size for _, size in whole)
    killed = search(folder / "hits.tsv", kill_at=largest / 2)
    left = sorted(path.name for path in folder.iterdir())
    resumed = search(folder / "hits.tsv", "--resume")
    same = (folder / "hits.tsv").read_bytes() == (folder / "whole.tsv").read_bytes()
print("after the kill:", *left)
print("the output has the same bytes:", same)
assert same
assert "hits.tsv.journal" in left
assert "hits.tsv" not in left

# %%
# The journal over time
# ---------------------

fig, ax = plt.subplots(figsize=(7.2, 4.2))
kill = killed[-1][0]
resumed = [(kill + seconds, size) for seconds, size in resumed]
looks = {
    "not interrupted": (whole, "C6"),
    "killed": (killed, "C1"),
    "resumed at once": (resumed, "C0"),
}
for label, (samples, color) in looks.items():
    seconds, sizes = zip(*samples, strict=True)
    ax.plot(seconds, [size / 1e3 for size in sizes], color=color, label=label)
ax.plot(kill, killed[-1][1] / 1e3, "X", color="C1", markersize=10, label="SIGKILL")
ax.set(xlabel="CPU time (s)", ylabel="size of the journal (kB)", xlim=(0, None), ylim=(0, None))
ax.legend(loc="upper left")
plt.show()

# %%
# What to see
# -----------
#
# The resumed search begins where the journal ends. It loses the tasks that were not finished, and
# the time that the command needs to start. When the output is complete, it has the same bytes as
# that of a search that was not interrupted, and the journal is deleted.

assert resumed[0][1] > 0.4 * largest
assert max(size for _, size in resumed) <= 1.1 * largest
