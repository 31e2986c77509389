"""Verification: the scores of a sample of the targets, computed again by the definition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swdual.backend import Scorer
from swdual.database.database import Database
from swdual.database.target_range import Range
from swdual.errors import EngineError
from swdual.master.task import Progress
from swdual.master.worker import Worker
from swdual.profiles.query import find_scores
from swdual.sequences.sequence import Sequence, first_word

SEED = 0x5EED
"""What the samples are drawn from, with the number of the query: they depend on nothing else."""


@dataclass(frozen=True)
class Verification:
    """Compares what workers found with what the definition says.

    Parameters
    ----------
    database
        The targets.
    sample
        How many of them are drawn for each query; all, if there are no more.
    definition
        The scorer of the reference backend.
    """

    database: Database
    sample: int
    definition: Scorer

    def draw_targets(self, number: int) -> NDArray[np.int64]:
        """Return the targets that are compared with query `number`, in ascending order.

        They are counted by descending length, from the database's first block on.
        """
        count = len(self.database)
        draw = np.random.default_rng((SEED, number))
        return np.sort(draw.choice(count, min(self.sample, count), replace=False, shuffle=False))

    def check(
        self,
        worker: Worker,
        query: Sequence,
        number: int,
        frames: list[bytes],
        target_range: Range,
        claim: tuple[NDArray[np.int32], NDArray[np.int64]],
        cutoffs: NDArray[np.int64],
        progress: Progress,
    ) -> None:
        """Compare the drawn targets of a range with what a worker found there.

        Parameters
        ----------
        worker
            The worker that computed.
        query, number
            What was compared, and its number among all queries.
        frames
            The codes of the frames that were compared.
        target_range
            With which targets.
        claim
            Scores, and the places in the block of the targets that have them.
        cutoffs
            (targets of the block,) what is not among them must score less than this.
        progress
            Called between two targets, so that a search that ends need not wait for all.

        Raises
        ------
        EngineError
            If one differs: what the worker found before cannot be believed either.
        """
        first = self.database.manifest.blocks[target_range.block].first
        drawn = self.draw_targets(number) - first
        scores, positions = claim
        profile = find_scores(query)
        # A target that was left out claims a score below its cutoff; that can be wrong, too.
        for target in drawn[(target_range.first <= drawn) & (drawn < target_range.last)].tolist():
            bounds = target_range.block, target, target + 1
            right = max(
                int(self.definition(codes, *bounds, lambda cells: progress(0), profile)[0])
                for codes in frames
            )
            claimed = scores[positions == target].tolist()
            cutoff = int(cutoffs[target])
            if claimed != [right] and (claimed or right >= cutoff):
                ordinals = self.database.block(target_range.block).ordinals
                name = first_word(self.database.headers([int(ordinals[target])])[0])
                words = f"scores {claimed[0]}" if claimed else f"scores less than {cutoff}"
                raise EngineError(
                    f"{worker.name} ({worker.device.name}) computes wrong: it says that target "
                    f"{name} {words} with query {query.id}, but by the definition it scores "
                    f"{right}; trust nothing it found, and search again on another `device` or "
                    "`backend`"
                )
