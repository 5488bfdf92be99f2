"""What breaks or changes with torchcomms and with the `nccl` backend of torch 2.15: initialization, groups made by some
ranks, point-to-point operations that must overlap.
"""
