"""The policies: one file each, named as on the command line."""
