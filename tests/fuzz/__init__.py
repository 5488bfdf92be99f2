"""Generated and mutated programs, and what must hold of the tool's findings and fixes for every one of them.

`programs` makes code out of `snippets`, `layout`, `respell` and `containers` change how it is written without
changing what it does, `harness` runs the tool on it in this process, and `invariants` says what must hold. What a
fix may change is judged by `oracle`, which shares no code with the tool's own proof (`torchmigrate.proof.edit_verification`).
"""
