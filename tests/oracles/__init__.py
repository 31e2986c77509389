"""Independent test oracles, written from definitions and sharing no code with the package."""
