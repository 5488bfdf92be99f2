"""A deprecated name, whose use warns.

Why: torch warns when the name is used, and plans to remove it. Some deprecations were revoked: a name that warns only in
releases before the target is reported as info.

    with torch.cuda.amp.autocast(enabled=fast):
    →
    with torch.amp.autocast("cuda", enabled=fast):

If only instances of a class warn, its name in an annotation, in `isinstance` or as a base is reported as info.

Fix safety: safe if the new name does the same for these arguments; otherwise unsafe, and the title says why. There is no
fix if the project supports a torch without the replacement: `torch.amp.GradScaler` needs torch 2.3.

Source: `torchmigrate/tables/data/changes.toml`, which names the wheels for each.
"""

from __future__ import annotations

from torchmigrate.tables.changes import Kind

from ._changes.verdict import create_rule

rule = create_rule("RM731", Kind.DEPRECATED)
