"""Multiple alignments by their definitions, letter by letter: rows, hhfilter's rule, pairs."""

from __future__ import annotations

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
READ_AS = {"B": "D", "U": "C", "Z": "E"}
REACH = 25


def row_of(length, query_start, query, target):
    """Return the row of an alignment in a3m.

    Parameters
    ----------
    length
        Residues of the whole query.
    query_start
        Where the alignment begins in it.
    query, target
        The aligned texts, with ``-`` for gaps.
    """
    row = "-" * query_start
    for a, b in zip(query, target, strict=True):
        row += b.lower() if a == "-" else b.upper()
    return row + "-" * (length - sum(letter.isupper() or letter == "-" for letter in row))


def columns_of(row):
    """Return a row of a3m without insertions."""
    return "".join(letter for letter in row if not letter.islower())


def residue(letter):
    """Return the amino acid that a letter counts as, or None for gaps and X."""
    letter = READ_AS.get(letter, letter)
    return letter if letter in RESIDUES else None


def passes(row, query, coverage, query_identity):
    """Return whether a row has enough residues, and enough of the query's."""
    pairs = [(residue(a), residue(b)) for a, b in zip(row, query, strict=True)]
    present = [(a, b) for a, b in pairs if a is not None]
    if not present or 100 * len(present) < coverage * len(row):
        return False
    other = sum(a != b for a, b in present)
    return query_identity == 0 or other < int(
        (0.9999 - 0.01 * query_identity) * len(present) + 0.9999
    )


def are_far(one, other, identity):
    """Return whether two rows differ enough for a largest identity in percent."""
    least = 0.9999 - 0.01 * identity
    places = [[i for i, letter in enumerate(row) if residue(letter)] for row in (one, other)]
    overlap = min(places[0][-1], places[1][-1]) - max(places[0][0], places[1][0]) + 1
    common = [i for i in places[0] if i in set(places[1])]
    differing = sum(residue(one[i]) != residue(other[i]) for i in common)
    enough = int(least * min(len(places[0]), overlap) + 0.999)
    return differing >= enough or differing >= least * len(common)


def keep_diverse(rows, highest, diff):
    """Return the indices of the rows that hhfilter -id HIGHEST -diff DIFF keeps, the query first.

    All rows have a residue. Of two rows with as many residues the first one is tried first.
    """
    length = len(rows[0])
    spans = [[i for i, letter in enumerate(row) if residue(letter) is not None] for row in rows]
    order = sorted(range(1, len(rows)), key=lambda k: (-len(spans[k]), k))
    kept = [0]
    covering = [0] * length
    for i in range(spans[0][0], spans[0][-1] + 1):
        covering[i] = 1
    once = diff <= 0 or diff >= len(rows)
    wanted = len(rows) if once else diff
    identity = highest if once else 20
    if identity > highest:
        return [*range(len(rows))]
    limits = [identity] * length
    most = [0] * length
    missing, step = wanted, 0
    while identity <= highest:
        before = missing
        for i in range(length):
            start = max(0, min(length - 2 * REACH, i - REACH))
            end = min(length, max(2 * REACH, i + REACH + 1))
            most[i] = max(most[i], *covering[start:end])
            if most[i] < wanted:
                limits[i] = identity
        missing = max(0, *(wanted - count for count in most))
        if missing == 0:
            break
        for k in order:
            if k in kept:
                continue
            limit = max(limits[spans[k][0] : spans[k][-1] + 1])
            rivals = [j for j in [0, *order[: order.index(k)]] if j in kept]
            if identity >= 100:
                kept.append(k)
            elif all(are_far(rows[k], rows[j], limit) for j in rivals):
                kept.append(k)
                for i in range(spans[k][0], spans[k][-1] + 1):
                    covering[i] += 1
        step = max(1, min(5, missing // (before - missing + 1) * step // 2))
        identity += step
    return sorted(kept)


def effective_rows(rows):
    """Return the sum of 1 / (rows that equal a row in 80 % of the columns)."""
    least = 0.8 * len(rows[0])
    return sum(
        1 / sum(sum(a == b for a, b in zip(one, other, strict=True)) >= least for other in rows)
        for one in rows
    )


def pairs_of(chains):
    """Return the rows that are paired, best first: a row of each chain, or None.

    Parameters
    ----------
    chains
        The organism of each row of each chain, "" if unknown, and its letters; the query comes
        first. Of rows of one organism with the same letters, the first one counts.
    """
    found = []
    for organism in {name for chain in chains for name, _ in chain[1:] if name}:
        rows = []
        for chain in chains:
            first = {}
            for k, (name, letters) in enumerate(chain):
                if k and name == organism:
                    first.setdefault(letters, k)
            query = chain[0][1]
            alike = {
                k: sum(a == b for a, b in zip(letters, query, strict=True))
                for letters, k in first.items()
            }
            rows.append(sorted(alike, key=lambda k, alike=alike: (-alike[k], k)))
        there = [each for each in rows if each]
        if len(there) < 2 or max(map(len, there)) > 600:
            continue
        ranks = range(min(map(len, there)))
        found += [[each[rank] if each else None for each in rows] for rank in ranks]

    def order(pair):
        product = 1
        for row in pair:
            product *= row or 1
        return sum(row is None for row in pair), product, [row or -1 for row in pair]

    return sorted(found, key=order)


def split_as_colabfold(text):
    """Return the paired rows of each chain in ColabFold's a3m, and those of each chain alone.

    A row belongs to the chains that have a column with a letter in it. Chains are cut by the
    lengths in the first line.
    """
    head, *lines = text.splitlines()
    lengths = [int(length) for length in head.removeprefix("#").split("\t")[0].split(",")]
    paired, alone = [[] for _ in lengths], [[] for _ in lengths]
    for title, row in zip(lines[::2], lines[1::2], strict=True):
        parts, rest = [], row
        for length in lengths:
            part = ""
            while sum(not letter.islower() for letter in part) < length:
                part, rest = part + rest[0], rest[1:]
            parts.append(part)
        parts[-1] += rest
        there = [k for k, part in enumerate(parts) if columns_of(part).strip("-")]
        if len(there) > 1:
            for k, name in enumerate(title.removeprefix(">").split("\t")):
                paired[k].append((name, parts[k]))
        else:
            alone[there[0]].append((title.removeprefix(">"), parts[there[0]]))
    return paired, alone


def expand(rows):
    """Return rows of a3m with columns for insertions, ``.`` where a row has none."""
    parts = []
    for row in rows:
        slots = [""]
        for letter in row:
            if letter.islower():
                slots[-1] += letter
            else:
                slots[-1] += "|" + letter
                slots.append("")
        parts.append([slot.partition("|") for slot in slots])
    widths = [max(len(part[k][0]) for part in parts) for k in range(len(parts[0]))]
    return [
        "".join(
            inserted.ljust(width, ".") + letter
            for (inserted, _, letter), width in zip(part, widths, strict=True)
        )
        for part in parts
    ]
