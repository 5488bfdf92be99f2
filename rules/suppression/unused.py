"""A suppression comment that silences nothing.

Why: it hides the next finding that comes to this statement, which nobody has looked at. A comment is only called
unused for codes that were looked for in this run.

    x = 1  # torchmigrate: ignore TS101
    →
    x = 1

Fix safety: safe; it removes the comment, or those of its codes that silence nothing. The code does not change.

Source: `torchmigrate/engine/suppress.py`.
"""

from torchmigrate.api import Rule, Safety

rule = Rule(code="XX001", safety=Safety.SAFE)
