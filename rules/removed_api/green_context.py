"""A green context that is made current, which torch 2.14 deprecates in favor of its streams.

Why: `set_context` and `pop_context` push and pop the context of the whole thread. Since torch 2.14 they warn; a green context
gets its work through its own streams.

    context.set_context()
    y = model(x)
    context.pop_context()
    →
    stream = context.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = model(x)
    torch.cuda.current_stream().wait_stream(stream)

`set_context` makes the context's work wait for the stream that was current, and `pop_context` does the reverse; a stream of
the context does not wait by itself.

What to do: move the work between the two calls below `with torch.cuda.stream(context.Stream()):`, and add the waits that it
needs. `Stream` exists since torch 2.11.

Source: torch 2.11, 2.12 and 2.14 wheels: torch/cuda/green_contexts.py (`GreenContext`).
"""

from __future__ import annotations

from torchmigrate.api import Kind, Rule

_MADE = tuple(
    f"torch.cuda.{module}GreenContext{made}"
    for module in ("", "green_contexts.")
    for made in ("()", ".create()")
)

rule = Rule(
    code="RM734",
    symbols=tuple(f"{made}.{method}" for made in _MADE for method in ("set_context", "pop_context")),
    message="`{symbol}` has warned since torch 2.14; use `with torch.cuda.stream(context.Stream()):`, and add the waits it needs",
    since=(2, 11),
    deprecated=(2, 14),
    kinds=frozenset({Kind.CALL}),
)
