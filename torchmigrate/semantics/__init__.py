"""What the code of one file means: scopes, what names stand for, how values flow, which symbols it uses."""
