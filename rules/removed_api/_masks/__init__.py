"""Masks of bytes: where they go, and what takes them."""
