"""Simulators of cluster schedulers: what a policy would have made of a workload on a platform.

Stages, in the order in which a simulation meets them:

``job``, ``workload``
    What was asked for, and when.
``platform``, ``processors``
    Where it may run; sets of processors.
``allocator``, ``allocators``
    Which processors a job gets.
``policy``, ``policies``
    Which job starts when.
``profile``
    What will be free when, by requested times.
``engine``
    Applies events and decisions instant by instant.
``schedule``, ``validation``, ``metrics``
    What happened, whether it can be, and what it is worth.

Nothing here knows biology.
"""
