"""Rewrites the single operations of a trap into one `batch_isend_irecv`, and proves that the result completes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, NoFix, Safety
from torchmigrate.model.findings import Change
from torchmigrate.text.read import read
from torchmigrate.text.source import SourceError

from .._simulator.program import Program
from .constancy import Constancy
from .function import Function
from .operations import Operations, group_of
from .rewriting import Rewriting
from .sites import Form, kept_otherwise, sites_of

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

    from .._simulator.requests import Requests, Trap

_REPLACED = (Kind.GUARD, Kind.STRING, Kind.ASSIGNMENT)
_THROUGH_ANOTHER = tuple(
    ((name + quote, verb), (rf"""{name}{quote}(?<=["'.]{name}{quote})""",))
    for name in ("isend", "irecv", "distributed", "dist")
    for quote in "\"'"
    for verb in ("patch", "setattr", "sys.modules")
)
"""How a test replaces the functions in the module that calls them: ``patch("ring.dist.isend")``, ``setattr(ring, "dist", …)``."""
_SEPARATE = 'give each direction a group of its own, or use a group with `backend="nccl-lazy"` (torch 2.14)'


def fix(use: Use, trap: Trap, ctx: Context) -> Fix:
    """The fix for a trap. Raises NoFix."""
    from .._simulator.requests import POSTING, Requests

    if ctx.project.uses(*POSTING, kinds=_REPLACED):
        raise NoFix(
            "the project looks for `isend` and `irecv`, or replaces them, and `P2POp` takes the original ones only"
        )
    for path, line in ctx.project.spelling(*_THROUGH_ANOTHER, beside=ctx.source.path):
        raise NoFix(
            f"{ctx.project.shown(path)}:{line} may replace `isend` and `irecv`, and `P2POp` takes the original ones only"
        )
    before = Requests.of(ctx.uses)
    changes = tuple(_changes(use, trap, ctx, before))
    if not _completes(changes, before, ctx):
        raise NoFix(
            f"one batch on this side alone would not meet single operations on the other before torch 2.15; {_SEPARATE}"
        )
    return Fix(changes, Safety.UNSAFE, "Issue the operations as one `batch_isend_irecv`")


def _completes(changes: Sequence[Change], before: Requests, ctx: Context) -> bool:
    """Whether the changed program has one trap less, and its batches complete on either kind of communicator."""
    from torchmigrate.rewrite.rewriter import Rewriter  # libcst takes a while to import

    try:
        after = read(ctx.source.path, ctx.source.replaced(Rewriter(ctx.source).edits(changes)))
        program = Program.changed(ctx.uses, after.tree)
    except SourceError as error:
        raise NoFix(f"the file cannot be rewritten: {error.message}") from None
    found = type(before)(program)
    program.scopes.release()
    return len(found.traps) < len(before.traps) and len(found.batches) > len(before.batches)


def _changes(use: Use, trap: Trap, ctx: Context, before: Requests) -> Iterator[Change]:
    function = Function(use.place.scope.node)
    nodes = sorted(trap.nodes, key=lambda node: (node.lineno, node.col_offset))
    if any(node not in function.parents for node in nodes):
        raise NoFix(f"the operations are spread over several functions; {_SEPARATE}")
    groups = {ast.unparse(group) if (group := group_of(node)) else "" for node in nodes}
    if len(groups) > 1:
        raise NoFix("the operations do not name their group alike, and a batch has one")
    sites = sites_of(nodes, function, before.syntax)
    constancy = Constancy(sites, function, before.syntax)
    constancy.check_between()
    operations = Operations(use, ctx, before.syntax)
    rewriting = Rewriting(sites, function, operations, frozenset(use.place.scope.bindings))
    forms, targets = {site.form for site in sites}, {site.target for site in sites}
    one_block = len({id(function.blocks[site.statement]) for site in sites}) == 1
    if forms <= {Form.NAME, Form.NONE} and one_block:
        return rewriting.named()
    if len(targets) > 1 or not forms <= {Form.APPEND, Form.NAME_AND_APPEND, Form.LIST}:
        raise kept_otherwise()
    constancy.check_list(ctx.source.tree)
    if forms == {Form.APPEND} and one_block and len(sites) > 1:
        return rewriting.extended()
    if forms == {Form.LIST} and len(sites) == 1 and not isinstance(sites[0].value, ast.ListComp):
        return rewriting.wrapped()
    constancy.check_loops(function.blocks[rewriting.last_in_block()])
    return rewriting.collected()
