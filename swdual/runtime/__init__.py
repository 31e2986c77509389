"""What this process runs on: compiled kernels, the cache folder, memory, optional packages.

``extras``
    Optional packages, and the commands that install them.
``system``
    What differs between Linux, macOS and Windows: files, limits, processors, signals, streams.
``memory``
    How much memory the process may use, and how much it holds.
``cache``
    The folder in which compiled kernels and calibrations are kept.
``compilation``
    The time during which kernels are compiled.
``jit``
    Numba with the settings of this project.
``native_code``, ``codegen``, ``native``
    Native code of kernels and its cache files; makes it by Numba; calls it without Numba.
``stopping``
    Lets long work look whether it is to stop.
``keywords``
    Functions that pass keyword arguments on show them in their help.
"""
