"""An installed package is obsolete.

Why: The development of torchtext has ended: its last release was built for torch 2.3, and its compiled part
does not load with a newer one. functorch became a part of torch in 2.0.

What to do: Uninstall the package and replace its use: by `torch.func` for functorch. torchtext has no
successor.

Source: https://github.com/pytorch/text; https://docs.pytorch.org/docs/stable/func.html
"""

from torchmigrate.api import Rule

rule = Rule(code="RT009")
