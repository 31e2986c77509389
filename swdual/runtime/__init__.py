"""What this process runs on: compiled kernels, the cache folder, memory, optional packages."""
