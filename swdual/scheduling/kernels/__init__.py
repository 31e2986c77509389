"""Compiled parts of the simulators: availability profiles, compression, insertion into a plan."""
