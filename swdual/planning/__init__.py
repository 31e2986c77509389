"""Plans: tasks and workers as numbers, what planners return, timelines and their drawings."""
