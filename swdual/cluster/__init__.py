"""The same search on the nodes of a cluster: what is to do in shares, each node its own master."""
