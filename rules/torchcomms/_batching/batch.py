"""The fix that turns the single operations of a trap into one `batch_isend_irecv`, if the result completes."""

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

    from .._simulator.traps import Trap, Traps

_REPLACED = (Kind.GUARD, Kind.STRING, Kind.ASSIGNMENT)
_THROUGH_ANOTHER = tuple(
    ((name + quote, verb), (rf"""{name}{quote}(?<=["'.]{name}{quote})""",))
    for name in ("isend", "irecv", "distributed", "dist")
    for quote in "\"'"
    for verb in ("patch", "setattr", "sys.modules")
)
"""How tests patch the functions in the calling module: ``patch("ring.dist.isend")``, ``setattr(ring, "dist", …)``."""
_SEPARATE = 'give each direction its own group, or use a group with `backend="nccl-lazy"` (torch 2.14)'


def fix(use: Use, trap: Trap, ctx: Context) -> Fix:
    """Return the fix for a trap. Raises NoFix."""
    from .._simulator.traps import POSTING, Traps

    if ctx.project.uses(*POSTING, kinds=_REPLACED):
        raise NoFix(
            "the project tests for `isend` and `irecv` or patches them, and `P2POp` accepts only the original functions"
        )
    for path, line in ctx.project.spelling(*_THROUGH_ANOTHER, beside=ctx.source.path):
        raise NoFix(
            f"{ctx.project.shown(path)}:{line} may patch `isend` and `irecv`, and `P2POp` accepts only the original functions"
        )
    # The proof: the changed program is simulated like the one before.
    before = Traps.from_uses(ctx.uses)
    changes = tuple(_changes(use, trap, ctx, before))
    if not _completes(changes, before, ctx):
        raise NoFix(
            f"before torch 2.15, a batch on this side would not match single operations on the other side; {_SEPARATE}"
        )
    return Fix(changes, Safety.UNSAFE, "Issue the operations as one `batch_isend_irecv`")


def _completes(changes: Sequence[Change], before: Traps, ctx: Context) -> bool:
    """Return whether the changed program has one trap less, and its batches complete on either kind of communicator."""
    from torchmigrate.rewrite.rewriter import Rewriter  # libcst takes a while to import

    try:
        after = read(ctx.source.path, ctx.source.replaced(Rewriter(ctx.source).edits(changes)))
        program = Program.from_changed(ctx.uses, after.tree)
    except SourceError as error:
        raise NoFix(f"the file cannot be rewritten: {error.message}") from None
    found = type(before)(program)
    program.scopes.release()
    return len(found.found) < len(before.found) and len(found.batches) > len(before.batches)


def _changes(use: Use, trap: Trap, ctx: Context, before: Traps) -> Iterator[Change]:
    function = Function(use.place.scope.node)
    nodes = sorted(trap.nodes, key=lambda node: (node.lineno, node.col_offset))
    if any(node not in function.parents for node in nodes):
        raise NoFix(f"the operations are spread over several functions; {_SEPARATE}")
    groups = {ast.unparse(group) if (group := group_of(node)) else "" for node in nodes}
    if len(groups) > 1:
        raise NoFix("the operations name their groups differently, and a batch has only one")
    sites = sites_of(nodes, function, before.program)
    constancy = Constancy(sites, function, before.program)
    constancy.check_between()
    operations = Operations(use, ctx, before.program)
    rewriting = Rewriting(sites, function, operations, frozenset(use.place.scope.bindings))
    forms, targets = {site.form for site in sites}, {site.target for site in sites}
    one_block = len({id(function.blocks[site.statement]) for site in sites}) == 1
    if forms == {Form.NONE}:
        constancy.check_blocking()
    if forms <= {Form.NAME, Form.NONE} and one_block:
        return rewriting.named()
    if len(targets) > 1 or not forms <= {Form.APPEND, Form.NAME_AND_APPEND, Form.LIST}:
        raise kept_otherwise()
    constancy.check_list(ctx.source.tree)
    if forms == {Form.APPEND} and one_block and len(sites) > 1:
        return rewriting.extended()
    are_exclusive = all(function.exclude(sites[0].statement, site.statement) for site in sites[1:])
    if forms == {Form.LIST} and are_exclusive and isinstance(sites[0].value, ast.List):
        return rewriting.wrapped()
    constancy.check_loops(function.blocks[rewriting.last_in_block()])
    return rewriting.collected()
