"""A suppression comment whose time is up.

Why: it says until which torch it was to silence, and the target is that torch or a newer one. It silences nothing any more, so
what it spoke of is reported again; with an older target it still does.

    model = torch.jit.script(model)  # torchmigrate: ignore TS101 until 2.16 -- the server reads TorchScript until then

What to do: mend what it silenced, and take the comment away; or name a later release, and the reason.

Source: `torchmigrate/engine/suppress.py`.
"""

from torchmigrate.api import Rule

rule = Rule(code="XX003")
