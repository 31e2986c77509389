"""Tokens: the secrets by which a server knows its clients."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable

from swdual.errors import InputError
from swdual.io.input import read_small

VARIABLE = "SWDUAL_TOKEN"
"""The environment variable that holds a token."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names of this machine that no other machine can reach: there a token can be left out."""

MIN_LENGTH = 16


class Tokens:
    """The tokens that a server knows; only their digests are kept.

    Parameters
    ----------
    texts
        One for each client; none: clients are told apart by their addresses.

    Raises
    ------
    InputError
        If one is short, or has characters that headers cannot have.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._digests = []
        for number, text in enumerate(texts, 1):
            if len(text) < MIN_LENGTH or not text.isascii() or not text.isprintable():
                raise InputError(
                    f"token {number} must have at least {MIN_LENGTH} printable ASCII characters; "
                    "'openssl rand -hex 32' makes one"
                )
            self._digests.append(_digest(text))

    def __bool__(self) -> bool:
        return bool(self._digests)

    def find(self, text: str) -> int | None:
        """Return the number of a token, from 1, or None; the time does not tell which it is."""
        digest, found = _digest(text), None
        for number, known in enumerate(self._digests, 1):
            if hmac.compare_digest(digest, known):
                found = number
        return found


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogateescape")).digest()


def read_tokens(path: str | None) -> list[str]:
    """Return the tokens in a file, one on each line; without a file, that of `VARIABLE`, if any.

    Parameters
    ----------
    path
        The file, or None.

    Raises
    ------
    InputError
        If it cannot be read, or has no token.
    """
    if path is None:
        text = os.environ.get(VARIABLE, "").strip()
        return [text] if text else []
    try:
        lines = read_small(path).decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise InputError("is no ASCII text", file=path) from error
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise InputError("has no token; write one on each line", file=path)
    return found
