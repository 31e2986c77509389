"""What a search returns, and how it is written to files and data frames."""
