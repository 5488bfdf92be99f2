"""Suppression comments that silence nothing, or cannot be understood."""
