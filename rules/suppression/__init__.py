"""Suppression comments that silence nothing, are due, or cannot be understood."""
