"""What a change of the table means for one use, and how its recipes are carried out."""
