"""The fix that turns the single operations of a trap into one `batch_isend_irecv`, if the result completes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchmigrate.api import Context, Fix, Kind, NoFix, Safety, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceError

from .._simulator.simulated_program import SimulatedProgram
from .._simulator.traps import FileTraps, Trap
from .constancy import ConstancyCheck
from .issue_sites import RequestForm, parse_sites, refuse_requests
from .operation_templates import OperationTemplates, get_group_argument
from .rewriting import BatchRewriting
from .trap_function import TrapFunction

_PATCHING_KINDS = (Kind.GUARD, Kind.STRING, Kind.ASSIGNMENT)
_PATCHING_WORDS = tuple(
    ((name + quote, verb), (rf"""{name}{quote}(?<=["'.]{name}{quote})""",))
    for name in ("isend", "irecv", "distributed", "dist")
    for quote in "\"'"
    for verb in ("patch", "setattr", "sys.modules")
)
"""How tests patch the functions in the calling module: ``patch("ring.dist.isend")``, ``setattr(ring, "dist", …)``."""
_SEPARATE_ADVICE = 'give each direction its own group, or use a group with `backend="nccl-lazy"` (torch 2.14)'


def build_batch_fix(use: Use, trap: Trap, ctx: Context) -> Fix:
    """Return the fix for a trap. Raises NoFix."""
    from .._simulator.traps import ASYNC_FUNCTIONS, FileTraps

    if ctx.project.find_uses(*ASYNC_FUNCTIONS, kinds=_PATCHING_KINDS):
        raise NoFix(
            "the project checks for `isend` and `irecv` or patches them, and `P2POp` accepts only the original functions"
        )
    for path, line in ctx.project.find_spellings(*_PATCHING_WORDS, beside=ctx.source.path):
        raise NoFix(
            f"{ctx.project.get_display_path(path)}:{line} may patch `isend` and `irecv`, and `P2POp` accepts only the original functions"
        )
    # The proof: the changed program is simulated like the one before.
    before = FileTraps.from_uses(ctx.uses)
    changes = tuple(_build_changes(use, trap, ctx, before))
    if not _is_improvement(changes, before, ctx):
        raise NoFix(
            f"before torch 2.15, a batch on this side would not match single operations on the other side; {_SEPARATE_ADVICE}"
        )
    return Fix(changes, Safety.UNSAFE, "Issue the operations as one `batch_isend_irecv`")


def _is_improvement(changes: Sequence[FixChange], before: FileTraps, ctx: Context) -> bool:
    """Return whether the changed program has one trap less, and its batches complete on either kind of communicator."""
    from torchmigrate.rewrite.rewriter import Rewriter  # libcst takes a while to import

    try:
        after = read_source(
            ctx.source.path, ctx.source.apply_edits(Rewriter(ctx.source).build_edits(changes))
        )
        program = SimulatedProgram.from_changed(ctx.uses, after.syntax_tree)
    except SourceError as error:
        raise NoFix(f"the file cannot be rewritten: {error.message}") from None
    found = type(before)(program)
    program.scopes.release_memory()
    return len(found.found) < len(before.found) and len(found.batches) > len(before.batches)


def _build_changes(use: Use, trap: Trap, ctx: Context, before: FileTraps) -> Iterator[FixChange]:
    function = TrapFunction(use.place.scope.node)
    nodes = sorted(trap.nodes, key=lambda node: (node.lineno, node.col_offset))
    if any(node not in function.parents for node in nodes):
        raise NoFix(f"the operations are spread over several functions; {_SEPARATE_ADVICE}")
    groups = {ast.unparse(group) if (group := get_group_argument(node)) else "" for node in nodes}
    if len(groups) > 1:
        raise NoFix("the operations name their groups differently, but a batch has only one group")
    sites = parse_sites(nodes, function, before.program)
    constancy = ConstancyCheck(sites, function, before.program)
    constancy.check_between()
    operations = OperationTemplates(use, ctx, before.program)
    rewriting = BatchRewriting(sites, function, operations, frozenset(use.place.scope.bindings))
    forms, targets = {site.form for site in sites}, {site.holder_text for site in sites}
    one_block = len({id(function.blocks[site.statement]) for site in sites}) == 1
    if forms == {RequestForm.NONE}:
        constancy.check_blocking()
    if forms <= {RequestForm.NAME, RequestForm.NONE} and one_block:
        return rewriting.replace_named_requests()
    if len(targets) > 1 or not forms <= {RequestForm.APPEND, RequestForm.NAME_AND_APPEND, RequestForm.LIST}:
        raise refuse_requests()
    constancy.check_list(ctx.source.syntax_tree)
    if forms == {RequestForm.APPEND} and one_block and len(sites) > 1:
        return rewriting.extend_list()
    are_exclusive = all(function.are_exclusive(sites[0].statement, site.statement) for site in sites[1:])
    if forms == {RequestForm.LIST} and are_exclusive and isinstance(sites[0].assigned_value, ast.List):
        return rewriting.wrap_lists()
    constancy.check_loops(function.blocks[rewriting.find_last_in_block()])
    return rewriting.collect_in_list()
