"""Grouped tasks (one form for all clusters, a few locals each): the parts of the path that differ."""
