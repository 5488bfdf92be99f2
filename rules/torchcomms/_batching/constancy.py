"""Checks that tensors and the list of requests stay untouched while operations wait for the rest of their batch."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from torchmigrate.api import NoFix
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import map_parents, walk_nodes

from .._simulator.followed_values import COLLECTIVE_OPERATIONS, SINGLE_OPERATIONS
from .._simulator.simulated_program import SimulatedProgram
from .issue_sites import IssueSite, RequestForm
from .trap_function import TrapFunction, find_root_name

_ORDERED_CALLS = frozenset({"wait", "batch_isend_irecv", *COLLECTIVE_OPERATIONS, *SINGLE_OPERATIONS})
"""Calls that must keep their position among the operations."""


@dataclass(frozen=True)
class ConstancyCheck:
    """Checks of the code between the sites of one function. Every method raises NoFix."""

    sites: Sequence[IssueSite]
    function: TrapFunction
    program: SimulatedProgram

    def check_between(self) -> None:
        """Check that nothing between the first operation and the last touches the tensors they transfer."""
        issuing = {site.statement for site in self.sites}
        first, last = self.sites[0].statement.lineno, self.sites[-1].statement.end_lineno or 0
        for statement in self.function.blocks:
            # Compound statements are judged by the statements in them.
            if not first <= statement.lineno <= last or statement in issuing or hasattr(statement, "body"):
                continue
            if not _ORDERED_CALLS.isdisjoint(self.program.called(statement)):
                raise NoFix("the operations are waited for separately")
            for site in self.sites:
                earlier = site.statement.lineno < statement.lineno
                if earlier and not self.function.are_exclusive(site.statement, statement):
                    _check_untouched(statement, site)

    def check_blocking(self) -> None:
        """Check that no operation uses the tensor that a blocking call before it has transferred."""
        for index, site in enumerate(self.sites):
            for later in self.sites[index + 1 :] if site.form is RequestForm.NONE else ():
                _check_untouched(later.statement, site)

    def check_loops(self, block: Sequence[ast.stmt]) -> None:
        """Check that nothing in a loop touches the tensors of operations from an earlier round."""
        below = {node for statement in block for node in walk_nodes(statement)}
        for site in self.sites:
            for outer in self.function.iter_enclosing(site.statement):
                if outer in block and not isinstance(outer, (ast.For, ast.While, ast.If)):
                    raise NoFix("the operations are in a block that may be left early")
                if isinstance(outer, (ast.For, ast.While)) and outer in below:
                    self._check_round(outer, site)

    def _check_round(self, loop: ast.For | ast.While, site: IssueSite) -> None:
        made = self.program.assigned(loop)
        tensors = [tensor for call in site.calls if (tensor := find_argument(call, 0, "tensor")) is not None]
        if all(find_root_name(tensor) in made for tensor in tensors):
            return
        issuing = {other.statement for other in self.sites}
        for statement in walk_nodes(loop):
            if (
                isinstance(statement, ast.stmt)
                and statement not in issuing
                and not hasattr(statement, "body")
            ):
                _check_untouched(statement, site)

    def check_list(self, tree: ast.Module) -> None:
        """Check that the list of requests is only emptied, filled by the operations, and waited for as a whole."""
        target = self.sites[0].holder_text
        whole = self.function.node if "." not in target else tree
        issuing = {part for site in self.sites for part in walk_nodes(site.statement)}
        is_appended = any(site.form is RequestForm.NAME_AND_APPEND for site in self.sites)
        parent_of = map_parents(whole)
        for node in walk_nodes(whole):
            is_list = isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) == target
            if (
                is_list
                and node not in issuing
                and not _waits_or_empties(node, parent_of, is_appended=is_appended)
            ):
                raise NoFix(
                    f"`{target}` is used for more than waiting for all requests at once, and a batch may return a single request"
                )


def _check_untouched(statement: ast.stmt, site: IssueSite) -> None:
    tensors = (find_argument(call, 0, "tensor") for call in site.calls)
    if not _only_allocates(statement) and any(t is not None and _reads_tensor(statement, t) for t in tensors):
        raise NoFix("a statement between the operations uses what they transfer")


def _only_allocates(statement: ast.stmt) -> bool:
    """Return whether a statement only allocates a tensor, like ``x = torch.empty_like(y)``."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Call) and (last_name(value.func) or "").startswith(
        ("empty", "zeros", "ones")
    )


def _reads_tensor(statement: ast.stmt, tensor: ast.expr) -> bool:
    """Return whether a statement reads the variable that a tensor comes from; ``x[0]`` and ``x[1]`` differ."""
    index = _get_constant_index(tensor)
    parent_of = map_parents(statement)
    for part in walk_nodes(statement):
        if (
            isinstance(part, ast.Name)
            and isinstance(part.ctx, ast.Load)
            and part.id == find_root_name(tensor)
        ):
            other = _get_constant_index(parent_of.get(part))
            if index is None or other is None or index == other:
                return True
    return False


def _get_constant_index(node: ast.AST | None) -> object:
    """Return the constant in ``x[0]``, or None."""
    constant = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    return node.slice.value if constant else None  # type: ignore[union-attr]


def _waits_or_empties(node: ast.AST, parent_of: dict[ast.AST, ast.AST], *, is_appended: bool) -> bool:
    """Return whether a use of the list of requests does no more than a batch allows."""
    parent = parent_of[node]
    if isinstance(parent, (ast.For, ast.comprehension)):
        return parent.iter is node and _only_waits(parent, parent_of)
    if isinstance(parent, (ast.Assign, ast.AnnAssign)):
        value = parent.value
        is_new = isinstance(value, ast.Call) and last_name(value.func) == "list" and not value.args
        return is_new or (isinstance(value, ast.List) and not value.elts)
    if isinstance(parent, ast.While):
        return parent.test is node
    allowed = ("clear", "pop", "append") if is_appended else ("clear", "pop")
    return isinstance(parent, ast.Attribute) and parent.attr in allowed


def _only_waits(loop: ast.For | ast.comprehension, parent_of: dict[ast.AST, ast.AST]) -> bool:
    """Return whether a loop over requests does nothing but wait for each."""
    if not isinstance(loop.target, ast.Name):
        return False
    body: ast.AST = loop if isinstance(loop, ast.For) else parent_of[loop]
    every = list(walk_nodes(body))
    reads = [n for n in every if isinstance(n, ast.Name) and n.id == loop.target.id]
    waited = {n.value for n in every if isinstance(n, ast.Attribute) and n.attr == "wait"}
    return waited.issuperset(read for read in reads if isinstance(read.ctx, ast.Load))
