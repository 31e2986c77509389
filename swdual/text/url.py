"""Names of remote files, such as ``s3://bucket/proteins.db``, shown without secrets.

A name is a URL if it says so, and no file of that name exists. Names in messages and in outputs
lack what may be a secret: user and password, and what follows a question mark, as in signed URLs.
"""

from __future__ import annotations

import os
import re

_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*::)*[a-z][a-z0-9+.-]+://", re.IGNORECASE)
"""A single letter is a drive."""

_LINK = re.compile(r"::(?=[a-z][a-z0-9+.-]*(?:://|::))", re.IGNORECASE)
"""Between the links of a chain, such as ``zip://a.fa::https://host/all.zip``."""

_IN_TEXT = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"<>]*[^\s'\"<>.,;:)\]]", re.IGNORECASE)

_HOST_AND_PORT = re.compile(r"[^/@:]*(?::[0-9]*)?(?:/|$)")

_LOCAL = "file://"


def is_url(source: object) -> bool:
    """Return whether a source is a URL, and not a file that has such a name.

    >>> is_url("s3://bucket/q.fa"), is_url("q.fa"), is_url("zip://q.fa::https://host/all.zip")
    (True, False, True)
    """
    return isinstance(source, str) and _URL.match(source) is not None and not os.path.exists(source)


def find_path(source: str | os.PathLike[str]) -> str | None:
    """Return the path of a source on this machine; None if it is a remote file.

    >>> find_path("q.fa"), find_path("file:///data/q.fa"), find_path("s3://bucket/q.fa")
    ('q.fa', '/data/q.fa', None)
    """
    if not is_url(source):
        return os.fspath(source)
    name = os.fspath(source)
    if not name.lower().startswith(_LOCAL):
        return None
    path = name[len(_LOCAL) :].removeprefix("localhost")
    if not path.startswith("/"):
        return None
    from urllib.request import url2pathname

    literal = url2pathname(path.replace("%", "%25"))
    return literal if os.path.exists(literal) else url2pathname(path)


def redact_name(name: str) -> str:
    """Return the name of a file as messages show it: of a URL, without what may be a secret.

    >>> redact_name("https://me:secret@host/q.fa?signature=1"), redact_name("what?.fa")
    ('https://host/q.fa?***', 'what?.fa')
    """
    if "://" not in name:
        return name
    return "::".join(map(_redact_link, split_chain(name)))


def split_chain(url: str) -> list[str]:
    """Return the links of a chain of URLs, of which each lies in the next.

    >>> split_chain("zip://q.fa::https://host/all.zip?a=b::c")
    ['zip://q.fa', 'https://host/all.zip?a=b::c']
    """
    return _LINK.split(url)


def _redact_link(link: str) -> str:
    scheme, separator, rest = link.partition("://")
    if not separator:
        return link
    rest, mark, _ = rest.partition("?")
    # A password may contain a slash. Without a colon, or with a port behind it, "@" is in the path.
    authority = rest.partition("/")[0]
    if "@" in authority or not _HOST_AND_PORT.match(rest):
        rest = rest.rpartition("@")[2]
    return f"{scheme}://{rest}{mark and '?***'}"


def redact_text(text: str) -> str:
    """Return a text whose URLs lack what may be a secret.

    >>> redact_text("403, url='https://host/q.fa?signature=1'")
    "403, url='https://host/q.fa?***'"
    """
    if "://" not in text:
        return text
    return _IN_TEXT.sub(lambda match: redact_name(match[0]), text)
