"""Rules about process groups on the torchcomms engine, torch 2.15's default behind `nccl`."""
