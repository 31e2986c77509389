"""The files of a BLAST database: volumes by its name, or by alias files that name volumes."""

from __future__ import annotations

import os
import re

from swdual.errors import DatabaseError, InputError
from swdual.text.messages import quote

KINDS = {"prot": "p", "nucl": "n"}
"""The first letter of the endings of files, for each alphabet."""

MAX_ALIAS_BYTES = 1 << 20

_SUBSETS = {
    "GILIST": "GIs",
    "TILIST": "TIs",
    "SEQIDLIST": "identifiers",
    "TAXIDLIST": "taxonomy ids",
    "IPGLIST": "IPGs",
    "OIDLIST": "numbers of sequences",
    "MEMB_BIT": "a membership bit",
    "FIRST_OID": "numbers of sequences",
    "LAST_OID": "numbers of sequences",
}
"""Keys of alias files that choose a part of a database, and by what."""

_WORD = re.compile(r'"([^"]*)"|(\S+)')


def find_base(path: str) -> str | None:
    """Return a database's path without ending, or None if there is no such database.

    Parameters
    ----------
    path
        Its name or one of its files; a name is also looked for in the folders of ``BLASTDB``.
    """
    stem, ending = os.path.splitext(path)
    is_file = os.path.isfile(path)
    if is_file and len(ending) == 4 and ending[1:2] in ("p", "n"):
        return stem if ending[2:] in ("al", "in", "hr", "sq") else None
    if is_file or not os.path.basename(path):
        return None
    for folder in ["", *([] if os.path.isabs(path) else _search_path())]:
        base = os.path.join(folder, path)
        if any(_has_index(base, kind) for kind in KINDS.values()):
            return base
    return None


def _search_path() -> list[str]:
    return [folder for folder in os.environ.get("BLASTDB", "").split(os.pathsep) if folder]


def _has_index(base: str, kind: str) -> bool:
    return any(os.path.isfile(f"{base}.{kind}{end}") for end in ("al", "in"))


def choose_kind(path: str, base: str, dbtype: str) -> str:
    """Return "prot" or "nucl": what a database holds.

    Parameters
    ----------
    path, base
        As it was given, and without ending.
    dbtype
        "prot", "nucl" or "auto".

    Raises
    ------
    InputError
        If there is one of each, and neither the ending nor `dbtype` says which.
    """
    found = [name for name, kind in KINDS.items() if _has_index(base, kind)]
    named = [name for name in found if os.path.splitext(path)[1].startswith(f".{KINDS[name]}")]
    if base != path and len(named) == 1:
        found = named
    if len(found) == 2 and dbtype in found:
        return dbtype
    if len(found) == 2:
        raise InputError(
            "there are two BLAST databases of this name; choose one by its index, as in "
            f"{os.path.basename(base)}.pin, or with `dbtype`",
            file=path,
        )
    if not found:
        raise DatabaseError("its index (.pin or .nin) is missing; copy it here", file=path)
    return found[0]


def find_volumes(base: str, kind: str) -> tuple[str | None, list[str]]:
    """Return the title of a database, if an alias file has one, and the paths of its volumes.

    Parameters
    ----------
    base
        The path of the database without ending.
    kind
        One of the values of `KINDS`.

    Raises
    ------
    DatabaseError
        If an alias file cannot be read, names what is not there, or chooses a part of a database.
    """
    volumes: dict[str, str] = {}  # by absolute path: BLAST reads a volume once, and in this order
    seen: set[str] = set()
    titles: list[str] = []
    waiting = [base]
    while waiting:
        name = waiting.pop()
        alias = f"{name}.{kind}al"
        if os.path.isfile(alias) and os.path.realpath(alias) not in seen:
            seen.add(os.path.realpath(alias))
            facts = _read_alias(alias)
            if "TITLE" in facts:
                titles.append(facts["TITLE"])
            words = [match[2] or match[1] for match in _WORD.finditer(facts["DBLIST"])]
            waiting += [_find_listed(word, alias, kind) for word in reversed(words)]
        elif os.path.isfile(f"{name}.{kind}in"):
            volumes.setdefault(os.path.abspath(name), name)
    if not volumes:
        raise DatabaseError("names no volume but itself", file=f"{base}.{kind}al")
    return (titles[0] if titles else None), [volumes[path] for path in sorted(volumes)]


def _read_alias(path: str) -> dict[str, str]:
    """Return keys and values of an alias file, which must list whole databases."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_ALIAS_BYTES + 1)
    except OSError as error:
        raise DatabaseError(f"cannot be opened ({error.strerror})", file=path) from error
    if len(data) > MAX_ALIAS_BYTES or b"\0" in data:
        raise DatabaseError("is no alias file of BLAST", file=path)
    facts: dict[str, str] = {}
    for line in os.fsdecode(data).splitlines():
        words = line.split(maxsplit=1)
        if words and not words[0].startswith("#"):
            facts.setdefault(words[0], words[1].strip() if len(words) > 1 else "")
    for key, what in _SUBSETS.items():
        if key in facts:
            raise DatabaseError(
                f"chooses a part of a database by {what} ({key}), which is not supported; "
                "write these sequences with 'blastdbcmd -entry all' as FASTA",
                file=path,
            )
    if not facts.get("DBLIST"):
        raise DatabaseError("is no alias file of BLAST: it has no DBLIST", file=path)
    return facts


def _find_listed(name: str, alias: str, kind: str) -> str:
    """Return the path of a database that an alias file lists."""
    for folder in (os.path.dirname(alias), *_search_path()):
        base = os.path.join(folder, name)
        if _has_index(base, kind):
            return base
    raise DatabaseError(
        f"lists {quote(name)}, but there is no {quote(f'{name}.{kind}in')}; copy it here",
        file=alias,
    )
