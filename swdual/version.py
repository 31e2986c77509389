"""The release."""

__version__ = "0.7.1"
