"""What a search is asked for: options, inputs, and how queries and targets are compared.

``declarations``, ``options``
    What commands, servers and the library know of each option of a search; all of them, checked.
``search_parameters``, ``defaults``
    Those that its results depend on; the defaults that follow from others.
``comparison``, ``comparisons``
    What a search asks of a kind of comparison: here sequences as they are written; other kinds.
``inputs``
    Reads queries and database, and decides all of this: see `read_inputs`.
``sources``, ``sequence_types``, ``selection``
    Opens the database; what options say about the types of sequences; the targets of some
    organisms, or of a list.
``queries``, ``scheme``, ``pairs``
    Reads the queries; the scoring scheme; the targets that each query is compared with.
``weak_queries``
    Queries that are too short to find anything.
"""
