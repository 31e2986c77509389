"""What is compared: letters and their codes, records of a file, and the scores of letter pairs.

alphabet -> fasta -> matrices -> scoring; synthesis makes artificial families for tests and
benchmarks.
"""
