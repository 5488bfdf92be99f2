"""torchcomms is switched on and missing, or installed and off.

Why: `TORCH_DISTRIBUTED_USE_TORCHCOMMS=1` makes torch.distributed build process groups on torchcomms, which is
a package of its own. Up to 2.15 the default is off.

What to do: Install it, or switch it off. Information only, where it is installed and off.

Source: torch/distributed/config.py of the 2.15.0 wheel; PyTorch 2.12 release blog.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT029")
