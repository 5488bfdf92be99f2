"""The rewriting of code: changes described by nodes and templates, turned into the smallest text edits."""
