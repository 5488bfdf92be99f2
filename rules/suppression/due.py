"""A suppression comment has expired.

Why: the comment names the torch release until which it applies, and the target is that release or a newer one. It no longer
suppresses anything, so its findings are reported again; with an older target it still applies.

    model = torch.jit.script(model)  # torchmigrate: ignore TS101 until 2.16 -- the server reads TorchScript until then

What to do: fix what the comment suppressed, and remove the comment; or name a later release, and the reason.

Source: `torchmigrate/engine/suppress.py`.
"""

from torchmigrate.api import Rule

rule = Rule(code="XX003")
