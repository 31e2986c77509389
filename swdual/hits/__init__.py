"""The hits of a search: columns for each query, and views of single hits.

targets (the records of the database) -> query_result (the hits of one query) -> hit (one of them)
-> fields (the columns that tables can show) -> shown (tables in notebooks).
"""
