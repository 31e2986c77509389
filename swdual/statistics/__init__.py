"""How unlikely a score is: bit scores and E-values.

From top to bottom:

1. `model`: what every kind of statistics offers: `Statistics.evaluate`;
2. `table`: E-values from NCBI's tables, as BLAST computes them;
3. `fit`: E-values from the scores of the search itself, for any matrix, as ssearch does;
4. `shuffle`: more scores to fit to where the database is small;
5. `parameters`: NCBI's tables, looked up by the values of the matrix;
6. `karlin_altschul`: lambda, K and H of any matrix, without gaps;
7. `normal`: the lower tail of the normal distribution, which `table` needs;
8. `sum_statistics`: E-values of several alignments that follow each other;
9. `composition`: E-values of whole queries without gaps, from the letters of the database.
"""
