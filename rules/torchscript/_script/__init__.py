"""What decides how a call of `torch.jit.script` goes: control flow, and branches that no supported torch reaches."""
