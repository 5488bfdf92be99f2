"""Name resolution: scopes, what names stand for, how values flow, and which symbols a file uses."""
