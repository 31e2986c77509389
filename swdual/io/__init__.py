"""Files, text and progress bars."""
