"""Planners, one a file, under the names that ``--planner`` takes.

``dual``, ``dual_plain``, ``dual_dp``, ``_guesses``, ``_accelerated``, ``_knapsack``, ``_exchange``
    Dual approximations: for each guess of the makespan, allocate tasks to CPUs and GPUs.
``heft``, ``minmin``, ``heteroprio``, ``cpu_only``, ``gpu_only``, ``self_scheduling``, ``_lists``
    List scheduling: task by task, each to a worker.
``equal_power``, ``proportional``, ``_shares``
    A contiguous part of the list of tasks for each worker.
"""
