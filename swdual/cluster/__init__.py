"""Searches on a Dask cluster: `executor.DaskExecutor` fulfils the contract of `master.executor`.

The client cuts a search into shares. A share is a group of queries against a range of targets. A
node, which is a Dask worker, divides each share among its own threads and GPUs, with the parts of
`swdual.master` that also run a search on one machine.

``connection``
    Connects to the scheduler; lists the workers of the cluster.
``executor``
    The executor: gets nodes ready, submits the shares of a batch, passes results on.
``membership``
    Which workers take part; sets each of them up.
``grouping``, ``partition``, ``placement``
    Groups queries; chooses shares and plans them; puts neighbouring shares on one node.
``dispatcher``
    Sends tasks to the planned nodes; moves them from busy or lost nodes to others.
``block_transfers``
    Sends blocks of the database to nodes that lack them.
``requests``
    Futures of Dask, and their results as events in the thread of the search.
``remote``
    What runs on a node: scores a share, aligns hits, reads and stores blocks.
``alignment``
    Bundles hits into alignment tasks.
"""
