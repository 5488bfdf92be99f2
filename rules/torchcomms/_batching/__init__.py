"""Fixes that rewrite single operations into one batch, which is proved to complete."""
