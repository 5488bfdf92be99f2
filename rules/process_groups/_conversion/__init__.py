"""A parameter that is the name of a group, turned into the group wherever it leads."""
