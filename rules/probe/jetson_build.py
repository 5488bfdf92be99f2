"""This Jetson needs a torch that was built for it.

Why: Orin is 8.7, an integrated GPU: code for 8.0 and 8.6 does not run there before CUDA 13.2. The general arm64
wheels are for servers (SBSA).

What to do: Install NVIDIA's build for Jetson: the hint is the command. From CUDA 13.2 on, with a driver for it,
the general wheel also runs on Orin.

Source: https://github.com/nvidia-holoscan/holohub/pull/1687; DEVICE_REQUIREMENT_POST_JETSON_SBSA_UNIFICATION in
the 2.15.0 wheel.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT028")
