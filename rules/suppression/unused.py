"""A suppression comment suppresses nothing.

Why: the comment would hide the next finding in this statement, which nobody has looked at. A comment is reported only for
codes that this run looks for.

    x = 1  # torchmigrate: ignore TS101
    →
    x = 1

Fix safety: safe; the fix removes the comment, or those of its codes that suppress nothing. The code does not change.

Source: `torchmigrate/engine/suppress.py`.
"""

from torchmigrate.api import Rule, Safety

rule = Rule(code="XX001", safety=Safety.SAFE)
