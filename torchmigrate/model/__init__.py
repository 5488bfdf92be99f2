"""The words that everything else speaks: versions, findings, rules. Plain data, from the standard library only."""
