"""torch warns about a newer GPU, but its kernels run there.

Why: Before 2.11, torch compared a GPU with the newest architecture in the build, and warned about any higher
one. For example, a GB10 is 12.1 and the build ends at 12.0, but sm_120 code runs on 12.1.

What to do: Ignore the warning.

Source: https://github.com/pytorch/pytorch/issues/164596; _check_capability in torch/cuda/__init__.py of the
2.10.0 wheel.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT025")
