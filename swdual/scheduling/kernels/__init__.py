"""Compiled parts of the simulators."""
