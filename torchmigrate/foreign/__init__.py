"""Files in other languages that embed torch's runtime: which names of the runtime each of them uses, and where."""
