"""Workloads: the jobs that users submit, from traces and from generators.

Stages, in the order in which a file becomes a workload:

``trace``
    The lines of a file, as they stand there.
``swf``, ``readers``, ``formats``, ``source``
    The Standard Workload Format, read and written; readers of other formats; a trace of any format;
    a workload, or the path of one.
``repair``, ``cleaning``, ``report``, ``preceding``
    Rules about damaged jobs; applies them; counts what they drop and repair; jobs that follow
    others.
``workload``
    Valid jobs, sorted by their submit times, as the engine takes them.
``sample``
    Windows of time and random jobs.
``resample``
    Random workloads that recombine the users of a trace.
``lublin``, ``cirne``
    Synthetic workloads.
``downey``, ``moldable``
    Jobs that may run on any number of processors.
``sequential``, ``threads``
    Tasks for one processor, made of parallel jobs; threads that wait for each other.
``planned``
    The tasks of a plan.
"""
