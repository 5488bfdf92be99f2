"""A package is left over whose development has ended.

Why: torchtext ended; its last release was built for torch 2.3, and its compiled part does not load with a
newer one. functorch became a part of torch in 2.0.

What to do: Uninstall it, and replace its use: `torch.func` for functorch; there is no successor of torchtext.

Source: https://github.com/pytorch/text; https://docs.pytorch.org/docs/stable/func.html
"""

from torchmigrate.api import Rule

rule = Rule(code="RT009")
