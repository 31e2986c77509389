"""Files and progress bars.

``stream``, ``foreign``
    Opens a file, compressed or not, as bytes or as text; names what is no input.
``input``
    Small text files, and the lines of large ones.
``journal``
    A file of records that survives a killed process.
``output``, ``file_kind``
    Files that appear under their name only when they are complete; which files they may replace.
``endings``
    The formats that endings of file names stand for.
``progress``
    Progress bars.
``remote``
    Reads remote files.
"""
