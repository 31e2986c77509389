"""The master: cuts a search into tasks, lets workers score them, and merges what they find.

``search``, ``run``
    One search, from its inputs to its results; these on their way into a format.
``setup``, ``devices``, ``worker``, ``kept_scorers``, ``compilation``, ``warm_up``
    Chooses the devices and makes a worker of each, with scorers of earlier searches if these are
    kept; compiles the kernels.
``memory``
    How much memory the search needs, and what it is used for.
``context``
    What all tasks share; scores one query against one range of targets.
``alignment``
    Adjusts the scores of some candidates, and aligns those that are still hits.
``checkpoint``, ``completion``
    What has been found so far, so that another search can go on; which output is complete.
``pipeline``
    The whole search on one page: the stages of each batch of queries.
``executor``, ``threads``
    The contract of what runs the tasks, which threads and Dask fulfil; the threads of this machine.
``occurrences``
    What stands in place of the pipeline for peptides: finds the occurrences of many at once.
``ranges``, ``cost``, ``partition``
    Cuts the targets; predicts the seconds of a task; chooses the cut and the plan.
``calibration``, ``calibration_cache``
    Measures the rates of a worker; keeps them, and what searches have seen since.
``task``, ``work_stealing``, ``worker_pool``, ``scoring_stage``
    Tasks; which of them a worker runs next; the threads of the workers; all of this for a batch.
``candidates``, ``serialization``
    The best targets of a query in one task; the same as bytes.
``merge``, ``query_state``
    Results of tasks become the result of a query; how far it is, and what is kept of it meanwhile.
``verification``
    Computes a sample of the scores again, by the definition.
``execution_log``
    What each worker did and when; what its rates are.
``iteration``, ``msa_search``
    Searches in rounds, with profiles of the hits; in several databases, for multiple alignments.
``remaining``
    What is left of a search, in predicted seconds.
``pair``
    The alignments of single pairs, one or many.
"""
