"""How unlikely a score is: bit scores and E-values.

From top to bottom:

1. `model`: what every kind of statistics offers: `Statistics.evaluate`;
2. `table`: E-values from NCBI's tables, as BLAST computes them;
3. `fit`: E-values from the scores of the search itself, for any matrix, as ssearch does;
4. `log_gamma`: how scores are distributed around what `fit` expects;
5. `shuffle`: more scores to fit to where the database is small;
6. `parameters`: NCBI's tables, looked up by the values of the matrix;
7. `karlin_altschul`: lambda, K and H of any matrix, without gaps;
8. `normal`: the lower tail of the normal distribution, which `table` needs;
9. `sum_statistics`: E-values of several alignments that follow each other;
10. `composition`: E-values of whole queries without gaps, from the letters of the database.
"""
