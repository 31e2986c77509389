"""How a score is computed: one implementation a file, all with equal results.

``reference`` is the definition, ``simd`` the fast one for CPUs.
"""
