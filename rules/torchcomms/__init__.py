"""What torchcomms and the `nccl` backend of torch 2.15 break or change: initialization, groups that only some ranks
create, point-to-point operations that must overlap.
"""
