"""Tests of torch's version as text."""
