"""torchcomms is enabled but missing, or installed but not enabled.

Why: `TORCH_DISTRIBUTED_USE_TORCHCOMMS=1` makes torch.distributed build process groups on torchcomms, which is a
separate package. Up to 2.15 the default is off.

What to do: Install it, or disable it. If it is installed but not enabled, this is only information.

Source: torch/distributed/config.py of the 2.15.0 wheel; PyTorch 2.12 release blog.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT029")
