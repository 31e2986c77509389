"""What a search will take, here or on machines that are not here.

``adjustment``
    Candidates of composition-based statistics, and the time to adjust them.
``preview``
    Plan, time and memory of a search on this machine or another.
``nodes_file``, ``synthetic_database``
    A cluster and a database that a file describes.
``cluster_preview``
    Shares, plan and memory of a search on such a cluster.
``transfers``
    Simulates how blocks of the database reach the nodes.
``forecast``
    Replays the plan with these transfers.
"""
