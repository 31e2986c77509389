"""One target a lane: what the kernels that score and the kernels that align have in common.

vector (a SIMD type for Numba), cell (the recurrence) -> score widths (numbers of 8, 16, 32 bits) ->
pack (targets laid into lanes).
"""
