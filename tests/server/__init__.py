"""The language server: positions, documents and projects alone, and a server that a client talks to."""
