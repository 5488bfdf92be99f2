"""One file: the rules, what they may ask, what they say of it, and what their fixes make of it."""
