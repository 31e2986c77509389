"""Where the targets lie: a file, or one and its shards, that every backend maps into memory.

layout (what stands where) -> writing (blocks to streams) -> build (records to file) -> source
(files to records) -> storage (which file has which block) -> database (the files as an object) ->
makedb (files to file).
"""
