"""What is fuzzed: one reader a file, each with a target and the inputs to begin with."""
