"""A name that was removed, or that only raises.

Why: importing or reading a name that torch has dropped stops the program. Some names live on as functions that only raise,
so that even `hasattr` finds them.

    q, r = torch.qr(x)
    →
    q, r = torch.linalg.qr(x)

What to do: use the replacement that the finding names. If the project still supports a torch that lacks it, branch on
`torch.__version__`.

Fix safety: safe if the new name does the same for these arguments; otherwise unsafe, and the title says why. There is no
fix if the project supports a torch without the replacement.

Source: `torchmigrate/tables/data/changes.toml`, which names the wheels for each.
"""

from __future__ import annotations

from torchmigrate.tables.changes import Kind

from ._changes.verdict import create_rule

rule = create_rule("RM701", Kind.REMOVED)
