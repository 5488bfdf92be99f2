"""The plan of an upgrade: what to do in which order, made from results, and its renderings."""
