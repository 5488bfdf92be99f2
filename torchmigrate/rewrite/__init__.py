"""What a fix does to statements, calls, imports and decorators, as edits that keep comments and layout."""
