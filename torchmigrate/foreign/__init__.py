"""Files in other languages that embed torch's runtime: what each names of the runtime, and where."""
