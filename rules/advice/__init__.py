"""What newer releases of torch do better than the code at hand: advice, off unless selected.

Two pieces of advice are not given, since they would be wrong too often:

- `torch.inference_mode` for `torch.no_grad`: what is made inside must never meet autograd again, not even a cache that a module
  fills there and uses in training ("Inference tensors cannot be saved for backward"). Reading the code does not show that,
  and the gain is within a few percent.
- float16 on CPUs where code falls back to float32: a CPU without instructions for it takes 4 to 30 times as long for matrix
  products and convolutions (measured with torch 2.13).
"""
