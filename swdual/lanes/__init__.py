"""One target a lane: what the kernels that score and the kernels that align have in common.

``registers``, ``vector``, ``doubles``
    The vector registers of this machine; SIMD types for Numba, of whole numbers and of doubles.
``score_widths``
    Numbers of 8, 16 and 32 bits.
``pack``
    Targets laid into lanes.
``layout``
    How many lanes, and which targets are scored one by one.
``cell``
    The recurrence.
``bound``
    Upper bounds, in half of its operations.
"""
