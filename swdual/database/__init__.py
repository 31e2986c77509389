"""Where the targets lie: one file that every backend maps into memory.

layout (what stands where) -> build (records to file) -> source (files to records) -> database (the
file as an object) -> makedb (files to file).
"""
