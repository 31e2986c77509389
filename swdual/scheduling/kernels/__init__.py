"""Compiled parts of the simulators.

``profile``, ``partition_profile``
    How many processors will be free when: of a platform, and of several partitions.
``compress_by_count``, ``compress_by_set``
    Move reserved jobs to earlier starts: by numbers of processors, or by the processors themselves.
``fitting``
    Finds the waiting jobs that fit now.
``nodes``
    Places jobs on nodes with processors, memory and GPUs.
``insertion``
    Inserts a new job into planned starts where that costs least.
``event_loop``, ``waiting_bounds``
    The events of rigid jobs under FCFS and EASY; bounds by which waiting jobs are passed over.
"""
