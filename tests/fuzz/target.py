"""What the targets of the fuzzers share: which errors may pass, and where their files lie.

A target is a module of `fuzz.targets`. ``target(data)`` reads some bytes as a stranger's file and
returns if swdual read them or refused them with an error that it explains; whatever else happens is
a finding. ``seeds()`` returns inputs to begin with: sound ones, and those that are damaged in the
usual ways.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import tempfile
import unicodedata
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from swdual.errors import SwdualError

MAX_MESSAGE_LENGTH = 1000
"""Characters of a message beyond which it repeats the file rather than tells about it."""

UNSHOWN = ("Cc", "Cs", "Zl", "Zp")
"""Unicode's categories of what moves a cursor, ends a line, or is no character."""

TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""What turns the direction of text."""


def unshown(text, allowed=""):
    """Return the characters of a text that a terminal must not see."""
    return [
        letter
        for letter in text
        if letter not in allowed and (unicodedata.category(letter) in UNSHOWN or letter in TURNING)
    ]


@contextmanager
def explained():
    """Pass over an error of swdual's, if it is one line that can be shown."""
    failure = None
    try:
        yield
    except SwdualError as error:
        failure = error
    if failure is not None:
        text = str(failure)
        assert failure.message.strip(), f"{type(failure).__name__} explains nothing"
        assert len(text) <= MAX_MESSAGE_LENGTH, f"{len(text)} characters: {text[:200]!r}"
        assert not unshown(text), f"cannot be shown: {text!r}"


class Listener(logging.Handler):
    """Looks at the messages of swdual's logger: each must be one line that can be shown."""

    def emit(self, record):
        text = record.getMessage()
        assert not unshown(text), f"cannot be shown: {text!r}"


@contextmanager
def listening():
    """Look at all messages that swdual logs meanwhile."""
    logger, listener = logging.getLogger("swdual"), Listener()
    logger.addHandler(listener)
    try:
        yield
    finally:
        logger.removeHandler(listener)


@cache
def folder():
    """Return a folder of this process, which ends with it; in memory if the system has such."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    path = Path(tempfile.mkdtemp(prefix="swdual-fuzz-", dir=memory))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def stored(data, name):
    """Return the path of a file with some bytes."""
    path = folder() / name
    path.write_bytes(data)
    return path


def pick(choices, byte):
    """Return the choice that a byte of the input stands for."""
    return choices[byte % len(choices)]
