"""The ledger of torch's API: how it is read, what stands in it, and what is told of it."""
