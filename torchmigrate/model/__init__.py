"""The vocabulary of all other packages: versions, findings, rules. Plain data, from the standard library only."""
