"""The futures of one scope: where they are made, kept and waited for, rewritten together."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, Safety
from torchmigrate.model.findings import Edit
from torchmigrate.rewrite import calls
from torchmigrate.semantics.dataflow import Escape
from torchmigrate.semantics.resolve import leaf

from .._authoring.inert import waits_for

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Scope

FORKS = tuple(
    f"{module}.{name}"
    for module in ("torch.jit", "torch.jit._async", "torch._C")
    for name in ("fork", "_fork")
)
WAITS = tuple(name.replace("fork", "wait") for name in FORKS)
_FUTURES = ("torch.jit.Future", "torch._C.Future", "torch._jit_internal.Future")
_Loops = (ast.For, ast.comprehension)


def fix_of(use: Use, ctx: Context) -> Fix | str:
    """The fix of all futures in the scope of ``use``, or why there is none."""
    try:
        edits = Futures(use.place.scope, ctx).edits()
    except Escape as reason:
        return f"a future {reason}"
    if not edits:
        return (
            "what it waits for is not made in this scope" if use.symbol in WAITS else "nothing is called here"
        )
    if waiting := waits_for(ctx):
        return f"TorchScript runs what is forked at the same time; {waiting}"
    safety = Safety.UNSAFE if ctx.options.keep_torchscript_support else Safety.SAFE
    return Fix(tuple(edits), safety, "Call the function, and use its result")


class Futures:
    """The forks and waits of one scope."""

    def __init__(self, scope: Scope, ctx: Context) -> None:
        self.scope = scope
        self.ctx = ctx
        self.flow = ctx.uses.flow
        self.uses = [use for use in ctx.uses.found if use.place.scope is scope]
        self.waited: list[ast.Call] = []
        self.lists: set[str] = set()

    def edits(self) -> list[Edit]:
        """Every fork called, every wait taken off. Raises Escape if one future is used in another way."""
        forks = [use for use in self.uses if use.symbol in FORKS]
        waits = [use for use in self.uses if use.symbol in WAITS]
        if any(use.kind is not Kind.CALL or not use.certain for use in (*forks, *waits)):
            raise Escape("may come from a `fork` that is not called by its name here")
        edits = [edit for use in forks if use.call is not None for edit in self._called(use.call)]
        for use in forks:
            assert use.call is not None
            self._follow(use.call)
        if any(use.call not in self.waited for use in waits):
            raise Escape("comes from elsewhere, and is waited for here")
        for call in self.waited:
            edits += self._taken_off(call)
        return edits + self._annotations()

    def _follow(self, value: ast.expr) -> None:
        for place in self.flow.places(value, self.scope):
            self._sort(place)

    def _sort(self, place: ast.expr) -> None:
        parent = self.flow.parents[place]
        around = self.flow.parents.get(parent)
        if isinstance(parent, ast.Call) and place in parent.args and self._is_wait(parent):
            self.waited.append(parent)
        elif isinstance(parent, ast.Attribute) and parent.attr == "wait" and isinstance(around, ast.Call):
            self.waited.append(around)
        elif (
            isinstance(parent, ast.Call)
            and isinstance(parent.func, ast.Attribute)
            and parent.func.attr == "append"
        ):
            self._kept(parent.func.value)
        elif isinstance(parent, (ast.List, ast.ListComp)) and isinstance(around, (ast.Assign, ast.AnnAssign)):
            target = around.target if isinstance(around, ast.AnnAssign) else around.targets[0]
            if isinstance(parent, ast.ListComp) and parent.elt is not place:
                raise Escape("is used in a comprehension")
            self._kept(target)
        elif not isinstance(parent, ast.Expr):
            raise Escape("leaves its scope, or is used in another way than to wait for it")

    def _is_wait(self, call: ast.Call) -> bool:
        return any(use.call is call and use.symbol in WAITS for use in self.uses)

    def _kept(self, target: ast.expr) -> None:
        """Follows the futures of a list that stays in the scope."""
        if not isinstance(target, ast.Name) or self.scope.find(target.id) is not self.scope:
            raise Escape("is kept in more than a local list")
        if target.id in self.lists:
            return
        self.lists.add(target.id)
        reaching = self.flow.reaching(target.id, self.scope)
        if reaching.captured or reaching.unclear:
            raise Escape(f"is kept in `{target.id}`, which an inner function uses")
        for read in reaching.reads:
            self._read_list(read)

    def _read_list(self, read: ast.Name) -> None:
        parent = self.flow.parents[read]
        around = self.flow.parents.get(parent)
        if isinstance(parent, _Loops) and parent.iter is read and isinstance(parent.target, ast.Name):
            self._looped(parent)
        elif (
            isinstance(parent, ast.Subscript)
            and parent.value is read
            and not isinstance(parent.slice, ast.Slice)
        ):
            self._sort(parent)
        elif isinstance(parent, ast.Attribute) and parent.attr == "append" and isinstance(around, ast.Call):
            forks = [use.call for use in self.uses if use.symbol in FORKS]
            if around.args[0] not in forks:
                raise Escape(f"is kept in `{read.id}`, beside what is no future")
        elif not (isinstance(parent, ast.Call) and leaf(parent.func) == "len"):
            raise Escape(f"is kept in `{read.id}`, which leaves the scope")

    def _looped(self, loop: ast.For | ast.comprehension) -> None:
        assert isinstance(loop.target, ast.Name)
        if isinstance(loop, ast.For):
            for read in self.flow.reads(loop.target, self.scope):
                self._sort(read)
            return
        comprehension = self.flow.parents[loop]
        for node in ast.walk(comprehension):
            if isinstance(node, ast.Name) and node.id == loop.target.id and isinstance(node.ctx, ast.Load):
                self._sort(node)

    def _called(self, call: ast.Call) -> list[Edit]:
        """``fork(f, x)`` → ``f(x)``."""
        source = self.ctx.source
        given = calls.arguments(call)
        if not call.args or isinstance(call.args[0], ast.Starred) or given[0] is not call.args[0]:
            raise Escape("is made of a function that is not written out")
        span = calls.span_of(source, call, given[0])
        rest = calls.span_of(source, call, given[1]).start if len(given) > 1 else source.span(call).end - 1
        plain = isinstance(given[0], (ast.Name, ast.Attribute)) and calls.stands_alone(source.segment(span))
        before, after = ("", "(") if plain else ("(", ")(")
        edits = [Edit(source.span(call).start, span.start, before), Edit(span.end, rest, after)]
        if any(b"#" in source.text[edit.start : edit.end] for edit in edits):
            raise Escape("is made where a comment would be lost")
        return edits

    def _taken_off(self, call: ast.Call) -> list[Edit]:
        """``wait(future)`` → ``future``."""
        source = self.ctx.source
        if isinstance(call.func, ast.Attribute) and not self._is_wait(call):
            edits = self.ctx.reduced(call, call.func.value)
        else:
            edits = self.ctx.reduced(call, call.args[0], calls.opening(source, call))
        if any(b"#" in source.text[edit.start : edit.end] for edit in edits):
            raise Escape("is waited for where a comment would be lost")
        return [edit for edit in edits if edit.start < edit.end or edit.text]

    def _annotations(self) -> list[Edit]:
        """``Future[T]`` → ``T``, where a variable of this scope has that type."""
        edits = []
        for use in self.uses:
            if use.symbol not in _FUTURES:
                continue
            parent = self.flow.parents.get(use.node)
            if use.kind is not Kind.ANNOTATION or not isinstance(parent, ast.Subscript):
                raise Escape("is named by its type in another way than in an annotation")
            if not isinstance(use.place.statement, ast.AnnAssign):
                raise Escape("leaves its scope: a function has it for its type")
            edits += self.ctx.reduced(parent, parent.slice)
        return edits
