"""What a search returns, and how it is written to files and data frames.

``search_results``
    The results of all queries, as objects and as data frames.
``file_types``
    The format of an output file: by its name, or as the user chooses.
``conversion``, ``checks``
    Converts tables of hits from one format to another; checks the tables of other programs.
"""
