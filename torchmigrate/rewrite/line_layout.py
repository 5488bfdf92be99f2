"""Line breaks in code that a change has made too long or short, placed as a formatter places them."""

from __future__ import annotations

import libcst as cst

from .call_layout import lay_out_call
from .collection_layout import lay_out_collection
from .new_code import NewCode
from .operator_layout import lay_out_operators
from .region import Region, collect_parents

_LEAST, _MOST = 88, 120
_ROUNDS = 20


def lay_out_lines(region: Region, module: cst.Module) -> cst.Module:
    """Return the module with line breaks where new code makes lines longer than the file's longest line."""
    if region.is_part:
        return module
    # Without a formatter's setting, a change keeps to the longest line of the file, within what formatters allow.
    limit = region.source.line_length or min(max(region.source.longest_line, _LEAST), _MOST)
    for _ in range(_ROUNDS):
        code = NewCode(region, module, limit)
        found = lay_out_operators(code) or lay_out_call(code) or lay_out_collection(code)
        if found is None:
            break
        module = _replace_node(module, *found)
    return module


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
