"""Readers of traces, but for that of the Standard Workload Format.

``sacct``, ``simulators``, ``table``
    The formats: accounts of Slurm, JSON of Batsim and ElastiSim, tables of any columns.
``texts``, ``parquet``
    Tables of text, read in pieces, and of Parquet.
``columns``
    Columns of texts become numbers, and these a trace.
"""
