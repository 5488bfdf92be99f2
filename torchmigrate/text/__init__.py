"""From the bytes of a file to text with byte offsets, and back: encodings, notebooks, tokens, edits."""
