"""The futures of one scope: where they are created, stored and waited for, rewritten together."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Fix, Kind, NoFix, Safety, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import DropArguments, replace
from torchmigrate.semantics.call_arguments import list_arguments
from torchmigrate.semantics.dataflow import ValueEscapes
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.scopes import Scope

from .._authoring.inert_markers import NeededBy, find_blocker

FORKS = tuple(
    f"{module}.{name}"
    for module in ("torch.jit", "torch.jit._async", "torch._C")
    for name in ("fork", "_fork")
)
WAITS = tuple(name.replace("fork", "wait") for name in FORKS)
_FUTURES = ("torch.jit.Future", "torch._jit_internal.Future")
_Loops = (ast.For, ast.comprehension)


def create_future_fix(use: Use, ctx: Context) -> Fix:
    """Return the fix of all futures in the scope of ``use``. Raises NoFix."""
    try:
        changes = FutureFlow(use.place.scope, ctx).collect_changes()
    except ValueEscapes as reason:
        raise NoFix(f"a future {reason}") from None
    if not changes:
        raise NoFix("only futures that `fork` returns are analyzed")
    if maker := find_blocker(use, ctx, is_traced=True):
        raise NeededBy(maker, "TorchScript runs forked calls concurrently; ")
    safety = Safety.UNSAFE if ctx.options.keep_torchscript_support else Safety.SAFE
    return Fix(tuple(changes), safety, "Call the function, and use its result")


class FutureFlow:
    """The forks and waits of one scope."""

    def __init__(self, scope: Scope, ctx: Context) -> None:
        self.scope = scope
        self.ctx = ctx
        self.flow = ctx.uses.data_flow
        self.uses = [use for use in ctx.uses.all_uses if use.place.scope is scope]
        self.waited: list[ast.Call] = []
        self.lists: set[str] = set()

    def collect_changes(self) -> list[FixChange]:
        """Return the changes that call every forked function and remove every wait. Raises ValueEscapes if a future is used otherwise."""
        forks = [use for use in self.uses if use.symbol in FORKS]
        waits = [use for use in self.uses if use.symbol in WAITS]
        if any(use.kind is not Kind.CALL or not use.certain for use in (*forks, *waits)):
            raise ValueEscapes("may come from a `fork` that is not called directly here")
        calls = [use.call for use in forks if use.call is not None]
        made = [change for call in calls for change in _call_directly(call)]
        for call in calls:
            for place in self.flow.find_value_places(call, self.scope):
                self._classify_use(place)
        # A wait for an unknown future would still need `torch.jit.wait`, while its fork may be gone.
        if any(use.call not in self.waited for use in waits):
            raise ValueEscapes("comes from another scope and is waited for here")
        return [*made, *map(self._remove_wait, self.waited), *self._change_annotations()]

    def _classify_use(self, place: ast.expr) -> None:
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
            self._follow_list(parent.func.value)
        elif isinstance(parent, (ast.List, ast.ListComp)) and isinstance(around, (ast.Assign, ast.AnnAssign)):
            target = around.target if isinstance(around, ast.AnnAssign) else around.targets[0]
            self._follow_list(target)
        elif not isinstance(parent, ast.Expr):
            raise ValueEscapes("leaves its scope, or is used for something other than waiting")

    def _is_wait(self, call: ast.Call) -> bool:
        return any(use.call is call and use.symbol in WAITS for use in self.uses)

    def _follow_list(self, target: ast.expr) -> None:
        """Follow the futures in a list that stays in the scope."""
        if not isinstance(target, ast.Name) or self.scope.find_scope(target.id) is not self.scope:
            raise ValueEscapes("is stored outside of a local list")
        if target.id in self.lists:
            return
        self.lists.add(target.id)
        reaching = self.flow.find_reaching(target.id, self.scope)
        if reaching.captured or reaching.unclear:
            raise ValueEscapes(f"is stored in `{target.id}`, which an inner function uses")
        for read in reaching.reads:
            self._check_list_read(read)

    def _check_list_read(self, read: ast.Name) -> None:
        parent = self.flow.parents[read]
        around = self.flow.parents.get(parent)
        if isinstance(parent, _Loops) and parent.iter is read and isinstance(parent.target, ast.Name):
            self._follow_loop(parent)
        elif (
            isinstance(parent, ast.Subscript)
            and parent.value is read
            and not isinstance(parent.slice, ast.Slice)
        ):
            self._classify_use(parent)
        elif isinstance(parent, ast.Attribute) and parent.attr == "append" and isinstance(around, ast.Call):
            forks = [use.call for use in self.uses if use.symbol in FORKS]
            if around.args[0] not in forks:
                raise ValueEscapes(f"is stored in `{read.id}` together with other values")
        elif not (isinstance(parent, ast.Call) and last_name(parent.func) == "len"):
            raise ValueEscapes(f"is stored in `{read.id}`, which leaves the scope")

    def _follow_loop(self, loop: ast.For | ast.comprehension) -> None:
        assert isinstance(loop.target, ast.Name)
        if isinstance(loop, ast.For):
            for read in self.flow.find_reads(loop.target, self.scope):
                self._classify_use(read)
            return
        comprehension = self.flow.parents[loop]
        for node in ast.walk(comprehension):
            if isinstance(node, ast.Name) and node.id == loop.target.id and isinstance(node.ctx, ast.Load):
                self._classify_use(node)

    def _remove_wait(self, call: ast.Call) -> FixChange:
        """Return the change of ``wait(future)`` to ``future``."""
        if isinstance(call.func, ast.Attribute) and not self._is_wait(call):
            return replace(call, "{future}", future=call.func.value)
        return replace(call, "{future}", future=call.args[0])

    def _change_annotations(self) -> Iterator[FixChange]:
        """Yield the changes of ``Future[T]`` to ``T`` in annotations of this scope's variables."""
        for use in self.uses:
            if use.symbol not in _FUTURES:
                continue
            parent = self.flow.parents.get(use.node)
            if use.kind is not Kind.ANNOTATION or not isinstance(parent, ast.Subscript):
                raise ValueEscapes("is referred to by its type outside an annotation")
            if not isinstance(use.place.statement, ast.AnnAssign):
                raise ValueEscapes("leaves its scope: it is the type of a parameter or result")
            yield replace(parent, "{type}", type=parent.slice)


def _call_directly(call: ast.Call) -> list[FixChange]:
    """Return the changes of ``fork(f, x)`` to ``f(x)``."""
    if not call.args or isinstance(call.args[0], ast.Starred) or list_arguments(call)[0] is not call.args[0]:
        raise ValueEscapes("comes from a `fork` call whose function is unknown")
    function = call.args[0]
    return [replace(call.func, "{function}", function=function), DropArguments(call, (function,))]
