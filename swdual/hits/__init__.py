"""What was found: for each query its hits, as columns that can be looked at one by one.

targets (what is known of the database) -> query_result (the hits of one query) -> hit (one of
them) -> field (what a table can show of them).
"""
