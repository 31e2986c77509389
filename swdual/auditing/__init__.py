"""Audits: tables of hits of any program, compared with an exact search.

``table``
    The rows of a table, and what its header tells of the run.
``truth``
    The exact search: identifiers, hits of queries, values of single pairs.
``hits``
    Hits as columns.
``comparison``
    What a table has of the truth: hits, scores, E-values, order.
``intervals``
    Confidence intervals of shares, from a sample of queries or of pairs.
``findings``
    All of it for several tables.
``layout``, ``page``
    The findings as tables and text, and as a page.
``audit``
    Makes them; the result that users see.
"""
