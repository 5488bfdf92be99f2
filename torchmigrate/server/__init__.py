"""The language server: diagnostics, fixes and explanations in an editor, from texts that need not be saved."""
