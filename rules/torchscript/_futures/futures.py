"""The futures of one scope: where they are created, stored and waited for, rewritten together."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, NoFix, Safety
from torchmigrate.model.findings import Change
from torchmigrate.rewrite.changes import DropArguments, replace
from torchmigrate.semantics.calls import arguments
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


def fix_of(use: Use, ctx: Context) -> Fix:
    """Return the fix of all futures in the scope of ``use``. Raises NoFix."""
    try:
        changes = Futures(use.place.scope, ctx).changes()
    except Escape as reason:
        raise NoFix(f"a future {reason}") from None
    if not changes:
        raise NoFix("only futures of `fork` are followed")
    if waiting := waits_for(use, ctx, is_traced=True):
        raise NoFix(f"TorchScript runs forked calls concurrently; {waiting}")
    safety = Safety.UNSAFE if ctx.options.keep_torchscript_support else Safety.SAFE
    return Fix(tuple(changes), safety, "Call the function, and use its result")


class Futures:
    """The forks and waits of one scope."""

    def __init__(self, scope: Scope, ctx: Context) -> None:
        self.scope = scope
        self.ctx = ctx
        self.flow = ctx.uses.flow
        self.uses = [use for use in ctx.uses.found if use.place.scope is scope]
        self.waited: list[ast.Call] = []
        self.lists: set[str] = set()

    def changes(self) -> list[Change]:
        """Return the changes that call every forked function and remove every wait. Raises Escape if a future is used otherwise."""
        forks = [use for use in self.uses if use.symbol in FORKS]
        waits = [use for use in self.uses if use.symbol in WAITS]
        if any(use.kind is not Kind.CALL or not use.certain for use in (*forks, *waits)):
            raise Escape("may come from a `fork` that is not called directly here")
        calls = [use.call for use in forks if use.call is not None]
        made = [change for call in calls for change in _called(call)]
        for call in calls:
            for place in self.flow.places(call, self.scope):
                self._sort(place)
        # A wait for an unknown future would still need `torch.jit.wait`, while its fork may be gone.
        if any(use.call not in self.waited for use in waits):
            raise Escape("comes from another scope and is waited for here")
        return [*made, *map(self._taken_off, self.waited), *self._annotations()]

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
            self._kept(target)
        elif not isinstance(parent, ast.Expr):
            raise Escape("leaves its scope, or is used other than by waiting for it")

    def _is_wait(self, call: ast.Call) -> bool:
        return any(use.call is call and use.symbol in WAITS for use in self.uses)

    def _kept(self, target: ast.expr) -> None:
        """Follow the futures in a list that stays in the scope."""
        if not isinstance(target, ast.Name) or self.scope.find(target.id) is not self.scope:
            raise Escape("is stored outside of a local list")
        if target.id in self.lists:
            return
        self.lists.add(target.id)
        reaching = self.flow.reaching(target.id, self.scope)
        if reaching.captured or reaching.unclear:
            raise Escape(f"is stored in `{target.id}`, which an inner function uses")
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
                raise Escape(f"is stored in `{read.id}` together with other values")
        elif not (isinstance(parent, ast.Call) and leaf(parent.func) == "len"):
            raise Escape(f"is stored in `{read.id}`, which leaves the scope")

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

    def _taken_off(self, call: ast.Call) -> Change:
        """Return the change of ``wait(future)`` to ``future``."""
        if isinstance(call.func, ast.Attribute) and not self._is_wait(call):
            return replace(call, "{future}", future=call.func.value)
        return replace(call, "{future}", future=call.args[0])

    def _annotations(self) -> Iterator[Change]:
        """Yield the changes of ``Future[T]`` to ``T`` in annotations of this scope's variables."""
        for use in self.uses:
            if use.symbol not in _FUTURES:
                continue
            parent = self.flow.parents.get(use.node)
            if use.kind is not Kind.ANNOTATION or not isinstance(parent, ast.Subscript):
                raise Escape("is referred to by its type other than in an annotation")
            if not isinstance(use.place.statement, ast.AnnAssign):
                raise Escape("leaves its scope: it is the type of a parameter or result")
            yield replace(parent, "{type}", type=parent.slice)


def _called(call: ast.Call) -> list[Change]:
    """Return the changes of ``fork(f, x)`` to ``f(x)``."""
    if not call.args or isinstance(call.args[0], ast.Starred) or arguments(call)[0] is not call.args[0]:
        raise Escape("comes from a call of `fork` whose function is unknown")
    function = call.args[0]
    return [replace(call.func, "{function}", function=function), DropArguments(call, (function,))]
