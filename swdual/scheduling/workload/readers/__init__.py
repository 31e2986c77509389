"""Readers of traces, one module for each format.

``contract``
    What a format is asked for.
``sacct``, ``batsim``, ``elastisim``, ``table``
    The formats; that of SWF is `swdual.scheduling.workload.swf`.
``presets``
    The columns of published tables.
``texts``, ``columns``
    Tables of text, read in pieces; a trace of columns in seconds, KB and names.
"""
