"""A family whose profile drifts away from the query."""

from __future__ import annotations

import numpy as np


def drifting_family() -> tuple[str, dict[str, str]]:
    """Return a query, and targets that are more like each other than like the query.

    The targets ``self`` and ``copy`` are the query itself.
    """
    random = np.random.default_rng(2)

    def mutate(text: str, share: float) -> str:
        letters = [*text]
        for place in random.choice(len(text), int(share * len(text)), replace=False):
            letters[place] = random.choice([*"ARNDCQEGHILKMFPSTWYV"])
        return "".join(letters)

    consensus = mutate("A" * 120, 1)
    query = mutate(consensus, 0.6)
    targets = {f"near{k}": mutate(consensus, 0.1) for k in range(12)}
    return query, {**targets, "self": query, "copy": query[:-2] + "WW"}
