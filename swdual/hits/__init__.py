"""The hits of a search: columns for each query, and views of single hits.

``targets``
    The records that hits name.
``search_parameters``
    The options that decide about hits.
``adjustment_counts``
    How many pairs were adjusted for composition.
``query_result``
    The hits of one query, as columns.
``hit``
    One of them.
``further``
    The alignments of hits besides the best.
``inclusion``
    How targets came into the profile of an iterated search.
``fields``
    The columns that tables can show.
``shown``
    Tables in notebooks.
"""
