"""The release."""

__version__ = "0.5.0"
