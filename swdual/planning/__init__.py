"""Plans: tasks and workers as numbers, what planners return, timelines and their drawings.

``instance``
    The times of tasks on CPUs and GPUs, and lower bounds of the makespan.
``planner``
    The contract of a planner, and the plan that it returns.
``timeline``
    What each worker did when, beside the plan.
``timing``
    How long a search took, with its plans and timelines.
``time_axis``, ``gantt``
    Ticks of a time axis; drawings of plans and timelines.
"""
