"""Tests of the ledger of torch's API: its reader, its content, and its rendering."""
