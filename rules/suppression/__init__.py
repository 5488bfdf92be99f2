"""Suppression comments that suppress nothing, have expired, or cannot be parsed."""
