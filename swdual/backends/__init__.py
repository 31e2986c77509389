"""How a score is computed: one implementation a file, all with equal results.

``reference``
    The definition: slow, and without code of the others.
``simd``, ``_gotoh``, ``_striped``
    The fast backend for CPUs; its kernels for several targets at once, and for one target.
``cuda``
    The backend for GPUs: a package.
"""
