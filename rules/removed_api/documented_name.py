"""A name that is deprecated only in its documentation, or with a warning that Python hides.

Why: the code runs without a visible warning, and nothing breaks at the target. The documentation names a successor, which
new code should use.

    torch.ger(a, b)
    →
    torch.outer(a, b)

Fix safety: safe if the new name does the same for these arguments; otherwise unsafe, and the title says why. There is no
fix if the project supports a torch without the replacement.

Source: `torchmigrate/tables/data/changes.toml`, which names the wheel or the page for each.
"""

from __future__ import annotations

from torchmigrate.tables.changes import Kind

from ._changes.verdict import create_rule

rule = create_rule("RM732", Kind.DOCUMENTED)
