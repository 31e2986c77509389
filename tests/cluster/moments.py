"""A search on a cluster in which something happens in the middle, such as the death of a node."""

from __future__ import annotations

import swdual

OPTIONS = {"max_target_seqs": 20, "align": True}


class Moments:
    """A progress function that does each of some things when such a part of a search is done."""

    def __init__(self, *moments):
        self.moments = sorted(moments, key=lambda moment: moment[0])

    def __call__(self, done, total):
        while self.moments and done >= self.moments[0][0] * total:
            self.moments.pop(0)[1]()


def there(data, cluster, *moments, name="wide.db", **more):
    """Search on a cluster, where something happens at some moments; return what is found."""
    progress = Moments(*moments)
    found = swdual.search(
        data / "long.fa",
        data / name,
        cluster=cluster.address,
        progress=progress,
        **{**OPTIONS, **more},
    )
    assert not progress.moments
    return found
