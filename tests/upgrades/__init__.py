"""How many adaptations to a torch release that projects made by hand are found in the files before them."""
