"""The release."""

__version__ = "0.6.0"
