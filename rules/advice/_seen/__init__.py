"""The analyses that rules of advice share: loops over tensors, compiled code, masks, choices of a device, and tests."""
