"""The release."""

__version__ = "0.8.0"
