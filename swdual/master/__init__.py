"""The master: cut a search into tasks, let workers score them, merge what they find.

queries and targets -> task -> worker -> hits (the best of each query) -> results.
"""
