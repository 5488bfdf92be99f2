"""Checking and fixing one file: the rules, what they may ask, their findings and their fixes."""
