"""cuda-compat is loaded, and this GPU does not support it (error 804).

Why: The cuda-compat package lets an old driver run a newer CUDA, on data-centre GPUs, some RTX cards that are
certified for it, and Jetson. CUDA images have it on the library path; on a GeForce every CUDA program then
fails with "forward compatibility was attempted on non supported HW".

What to do: Upgrade the host's driver, after which cuda-compat is not needed; or take it off the library path
if the driver is new enough already.

Source: https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html;
https://github.com/DeepVAC/TorchPod/issues/43
"""

from torchmigrate.api import Rule

rule = Rule(code="RT016")
