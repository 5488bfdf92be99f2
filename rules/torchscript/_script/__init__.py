"""Scripted functions and classes, and the code that replaces scripting."""
