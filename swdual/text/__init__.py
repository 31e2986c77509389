"""Text for people: of messages and tables, for notebooks, and names of remote files.

``messages``
    Text for messages and tables: quoted, counted, cut, and the nearest of some names.
``notebook``
    HTML for notebooks.
``url``
    Names of remote files, without secrets.
"""
