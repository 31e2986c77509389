"""What a search will take, here or on machines that are not here."""
