"""The adoption of the tool in code with known findings: baselines, earlier revisions, and suppression comments."""
