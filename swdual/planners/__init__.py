"""Planners, one a file, under the names that ``--planner`` takes."""
