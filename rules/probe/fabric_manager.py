"""The GPUs are waiting for NVIDIA's Fabric Manager (error 802).

Why: On machines with NVSwitch (HGX, DGX) the Fabric Manager has to set up the links before CUDA starts.
`nvidia-smi` does not need it and looks fine. The torch wheel is not at fault.

What to do: Start the service, in the same version as the driver. On a shared machine or in the cloud, ask its
operator.

Source: https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/;
https://github.com/huggingface/huggingface_hub/issues/4134
"""

from torchmigrate.api import Rule

rule = Rule(code="RT017")
