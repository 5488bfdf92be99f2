"""Templates that turn single operations into the elements of a batch."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchmigrate.api import Context, NoFix, Use
from torchmigrate.rewrite.changes import Part, Symbol, Template
from torchmigrate.semantics.call_arguments import find_argument

from .._simulator.followed_values import SINGLE_OPERATIONS
from .._simulator.simulated_program import SimulatedProgram


class OperationTemplates:
    """Renders operations with the names that are visible at ``use``."""

    def __init__(self, use: Use, ctx: Context, program: SimulatedProgram) -> None:
        self._use = use
        self._ctx = ctx
        self._program = program

    def resolve_symbol(self, name: str) -> Symbol:
        """Return a symbol of torch.distributed as named at the use. Raises NoFix."""
        return self._ctx.write_symbol(f"torch.distributed.{name}", self._use)

    def render_operation(self, call: ast.Call) -> Template:
        """Return the `P2POp` that replaces a single operation. Raises NoFix."""
        name = self._program.find_called_name(call)
        if name not in SINGLE_OPERATIONS:
            raise NoFix(f"`{ast.unparse(call.func)}` is a local alias of the operation")
        sends = "send" in name
        names = ("dst", "group_dst") if sends else ("src", "group_src")
        tensor, group, tag = (
            find_argument(call, 0, "tensor"),
            get_group_argument(call),
            find_argument(call, 3, "tag"),
        )
        peer, in_group = find_argument(call, 1, names[0]), find_argument(call, 4, names[1])
        assert tensor is not None  # only calls with both written out are simulated
        assert peer is not None or in_group is not None
        if in_group is not None and self._ctx.options.minimum < (2, 6):
            raise NoFix("`P2POp` takes a rank within the group (`group_peer`) only since torch 2.6")
        own = call.func if name in ("isend", "irecv") else self.resolve_symbol("isend" if sends else "irecv")
        given: list[tuple[str, Part | None]] = [
            ("{op}", own),
            ("{tensor}", tensor),
            ("{peer}", peer),
            ("{group}" if peer is not None else "group={group}", group),
            ("group_peer={group_peer}", in_group),
            ("tag={tag}", tag),
        ]
        arguments = ", ".join(code for code, part in given if part is not None)
        parts = dict(
            zip(("op", "tensor", "peer", "group", "group_peer", "tag"), dict(given).values(), strict=True)
        )
        present = {name: part for name, part in parts.items() if part is not None}
        return Template(f"{{P2POp}}({arguments})", {"P2POp": self.resolve_symbol("P2POp"), **present})

    def render_batch(self, calls: Iterable[ast.Call], code: str = "{batch}", **parts: Part) -> Template:
        """Return code in which ``{batch}`` is a call with one operation per line. Raises NoFix."""
        made = {f"operation{index}": self.render_operation(call) for index, call in enumerate(calls)}
        lines = "".join(f"    {{{name}}},\n" for name in made)
        listed = f"{{batch_isend_irecv}}([\n{lines}])"
        symbol = self.resolve_symbol("batch_isend_irecv")
        return Template(code.replace("{batch}", listed), {**parts, "batch_isend_irecv": symbol, **made})


def get_group_argument(call: ast.Call) -> ast.expr | None:
    """Return the group argument of an operation; None for the default group."""
    given = find_argument(call, 2, "group")
    return None if isinstance(given, ast.Constant) and given.value is None else given
