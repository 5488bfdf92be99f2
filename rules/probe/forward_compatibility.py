"""cuda-compat is loaded, but this GPU does not support it (error 804).

Why: The package cuda-compat lets an old driver run a newer CUDA, on data-center GPUs, on some RTX cards that
are certified for it, and on Jetson. CUDA images have it on the library path. On a GeForce, every CUDA program
then fails with "forward compatibility was attempted on non supported HW".

What to do: Upgrade the host's driver, which makes cuda-compat unnecessary, or remove cuda-compat from the
library path if the driver is new enough already.

Source: https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html;
https://github.com/DeepVAC/TorchPod/issues/43
"""

from torchmigrate.api import Rule

rule = Rule(code="RT016")
