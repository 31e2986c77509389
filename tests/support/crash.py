"""Builds a database again and again, and kills the builder one moment later each time.

``python crash.py FOLDER old|none SHARDS`` makes a folder ``000``, ``001``, ... for each moment at
which a process that builds ``x.db`` of ``t.fa`` in so many shards can die: before, in the middle of
and after every write, and before and after everything else that changes what is on the disk. It
ends with the first build that comes to its end, and prints how each ended.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path

from swdual.database import build
from swdual.database.makedb import makedb


class Bomb:
    """Kills this process at some moment."""

    def __init__(self, moment):
        self._left = moment

    def tick(self):
        """Let a moment pass."""
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1

    def around(self, function):
        """Return a function with a moment before it and one after it."""

        def call(*arguments):
            self.tick()
            value = function(*arguments)
            self.tick()
            return value

        return call


def plant(bomb):
    """Have moments pass wherever an output is written, stored or renamed."""

    class File(io.FileIO):
        def write(self, data):
            bytes_ = memoryview(data).cast("B")
            half = len(bytes_) // 2
            bomb.tick()
            super().write(bytes_[:half])
            bomb.tick()
            super().write(bytes_[half:])
            return len(bytes_)

    File.truncate = bomb.around(io.FileIO.truncate)
    os.fdopen = lambda descriptor, mode: io.BufferedWriter(File(descriptor, mode), 512)
    os.open = bomb.around(os.open)
    os.fsync = bomb.around(os.fsync)
    os.replace = bomb.around(os.replace)
    os.unlink = bomb.around(os.unlink)
    written = os.pwrite

    def pwrite(descriptor, data, place):
        half = len(data) // 2
        bomb.tick()
        written(descriptor, data[:half], place)
        bomb.tick()
        return half + written(descriptor, data[half:], place + half)

    os.pwrite = pwrite


def die(folder, prepare, work):
    """Do some work in a new folder for each moment, in a process that dies at that moment."""
    for moment in count():
        place = Path(folder, f"{moment:03}")
        place.mkdir()
        prepare(place)
        child = os.fork()
        if child == 0:
            plant(Bomb(moment))
            work(place)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(status)
        if status != -signal.SIGKILL:
            return


def main(folder, before, shards):
    build.BLOCK_BYTES = 16
    shards = int(shards) or None
    makedb("q.fa", "warm.db", shards=shards and 2).close()

    def prepare(place):
        if before == "old":
            for file in Path().glob("warm.db*"):
                shutil.copy(file, place / file.name.replace("warm", "x"))

    die(folder, prepare, lambda place: makedb("t.fa", place / "x.db", shards=shards, force=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
