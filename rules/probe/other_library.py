"""cuDNN or NCCL has another version than torch was built with.

Why: Each CUDA wheel of torch requires one version of `nvidia-cudnn-cu*` and `nvidia-nccl-cu*`. An older one
lacks functions that torch calls: cuDNN is then refused ("cuDNN version incompatibility"), and NCCL fails in the
middle of a run. A newer one of the same major version usually works, so it is only information.

What to do: Install the version that torch requires: the hint is the command. If the right package is installed
but another version is used, a copy on the library path comes first: unset `LD_LIBRARY_PATH`.

Source: the wheels' Requires-Dist; `version` in torch/backends/cudnn/__init__.py of the 2.13.0 wheel.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT036")
