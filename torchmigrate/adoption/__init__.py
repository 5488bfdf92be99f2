"""Taking the tool up where there are findings already: baselines, earlier revisions, and comments that silence."""
