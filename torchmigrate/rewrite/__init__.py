"""What a fix does to a program, said in nodes and templates, and the smallest text edits that say the same."""
