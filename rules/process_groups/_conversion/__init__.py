"""The conversion of an operator's parameter from the name of a group to the group, wherever the parameter is used."""
