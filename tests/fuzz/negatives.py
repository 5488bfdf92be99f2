"""Programs in which ``torch``, or what they call it, is something of their own: there is nothing to find in them."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.fuzz.programs import SYMBOL, blocks, filled

BINDINGS = (
    "{name} = load()",
    "{name}: Any = load()",
    "({name}, other), *rest = load()",
    "import mylib as {name}",
    "from mylib import thing as {name}",
    "from .compat import {name}",
    "from mylib.torch import jit as {name}",
    "class {name}: jit = cuda = None",
    "def {name}(): ...",
    "async def {name}(x): ...",
    "for {name} in things: pass",
    "for other, {name} in things: pass",
    "with thing() as {name}: pass",
    "with thing() as (other, {name}): pass",
    "if ({name} := load()): pass",
    "print([other for other in load() if ({name} := other)])",
    "try: load()\nexcept Exception as {name}: pass",
    "match load():\n    case [{name}, *_]: pass",
    "match load():\n    case {{'a': 1, **{name}}} | {{'b': {name}}}: pass",
    "{name} += 1",
    "import torch\n{name} = wrapped(torch)",
)
"""What binds a name in the block that a program stands in."""

AROUND = (
    "def main({name}):\n    {{}}",
    "import {module} as {name}\n\n\ndef main(x, {name}=None, *args):\n    {{}}",
    "import torch\nimport {module} as {name}\n\n\nasync def main(*{name}):\n    {{}}",
    "def main(**{name}):\n    def inner(x):\n        {{}}",
    "class Thing:\n    def main(self, *, {name}):\n        {{}}",
    "import {module} as {name}\n\n\ndef outer({name}):\n    class Inner:\n        {{}}",
    "import {module} as {name}\n\n\ndef main(x):\n    {name} = x\n    {{}}",
    "import {module} as {name}\n\n\ndef main(xs):\n    for {name} in xs:\n        {{}}",
    "import {module} as {name}\n\n\ndef main(xs):\n    {{}}\n    {name} = xs",
)
"""What stands around a program, with a name bound in it."""


@st.composite
def negatives(draw: st.DrawFn) -> str:
    """A program like those with findings, but that the name is bound to something else."""
    code = tuple(draw(st.lists(blocks(), min_size=1, max_size=3)))
    name = draw(st.sampled_from(("torch", "t", "jit", "script", "é")))
    body = _spelled(code, name, whole=name == "script")
    if draw(st.booleans()):
        binding = draw(st.sampled_from(BINDINGS)).format(name=name)
        return f"{binding}\n\n{body}\n"
    around = draw(st.sampled_from(AROUND)).format(name=name, module="torch.jit" if name == "jit" else "torch")
    return filled(around, [body]) + "\n"


def _spelled(code: tuple[str, ...], name: str, *, whole: bool) -> str:
    """The blocks, with ``name`` in the place of torch, or of each symbol as a whole."""

    def spell(symbol: str) -> str:
        return name if whole else name + symbol.removeprefix("torch")

    return "\n".join(SYMBOL.sub(lambda match: spell(match[1]), block) for block in code)
