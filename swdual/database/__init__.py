"""Where the targets lie: one file that every backend maps into memory.

layout (what stands where) -> build (FASTA to file) -> database (the file as an object).
"""
