"""Line breaks in code that a change has made too long or short, placed as a formatter places them."""

from __future__ import annotations

import libcst as cst

from .call_layout import lay_out_call
from .collection_layout import lay_out_collection
from .line_ends import find_line_end, find_line_start
from .new_code import NewCode
from .operator_layout import lay_out_operators
from .region import Region, collect_parents

_LEAST, _MOST = 88, 120
_ROUNDS = 20
_GROWTH = 16
"""How many characters a change may add to a line that is too long for every formatter."""


def lay_out_lines(region: Region, module: cst.Module) -> cst.Module:
    """Return the module with line breaks where new code makes lines longer than the file's longest line."""
    if region.is_part:
        return module
    limit = region.source.line_length or _choose_limit(region)
    for _ in range(_ROUNDS):
        code = NewCode(region, module, limit)
        found = lay_out_operators(code) or lay_out_collection(code) or lay_out_call(code)
        if found is None:
            break
        module = _replace_node(module, *found)
    return module


def _choose_limit(region: Region) -> int:
    """Return the length of the file's longest line within what formatters allow, or a little more than that of the region's own."""
    source, span = region.source, region.span
    lines = source.text[find_line_start(source.text, span.start) : find_line_end(source.text, span.end - 1)]
    own = max(map(len, lines.decode().splitlines()), default=0)
    limit = min(max(source.longest_line, _LEAST), _MOST)
    return limit if own <= limit else own + _GROWTH


def _replace_node(module: cst.Module, old: cst.CSTNode, new: cst.CSTNode) -> cst.Module:
    """Return the module with one node replaced; all nodes that do not enclose it stay the same objects."""
    parents = collect_parents(module)
    path: set[cst.CSTNode] = {module, old}
    node = old
    while node in parents:
        node = parents[node]
        path.add(node)

    class NodeReplacer(cst.CSTTransformer):
        def on_visit(self, node: cst.CSTNode) -> bool:
            return node in path

        def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
            return new if original_node is old else updated_node

    return cst.ensure_type(module.visit(NodeReplacer()), cst.Module)
