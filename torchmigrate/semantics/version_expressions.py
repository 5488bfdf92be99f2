"""Versions of torch in expressions: literals, what reads torch's version, and names that say which one they test.

Projects test it in many ways: a comparison of ``torch.__version__``, parsed or not; a constant or a function of the
project whose name says so (``TORCH_2_4``, ``pytorch_after(1, 8)``).
"""

from __future__ import annotations

import ast
import re

from torchmigrate.model.qualified_names import COMPANION_PACKAGES
from torchmigrate.model.torch_versions import Version
from torchmigrate.semantics.name_resolution import last_name, string_value
from torchmigrate.semantics.scopes import Scope
from torchmigrate.semantics.symbol_uses import SymbolUses

_VERSION = ("torch.__version__", "torch.version.__version__")
_DEPTH = 8

_SAYS_VERSION = re.compile(r"(?i)(?:torch|\bpt)_?v(?:er(?:sion)?)?(?:_?(?:tuple|parsed|str|base|number))?$")
_SAYS_RANGE = re.compile(r"(?i)(?:torch|\bpt|_pt)\w*?[a-z_](\d)_(\d+)(?!\d)")
_SAYS_TORCH = re.compile(r"(?i)torch|(?:\b|_)pt(?:\b|_|\d)")
_BELOW = re.compile(r"(?i)less|(?:^|_)(?:lt|le|before|below|older|until|max)(?:_|$)")
_ABOVE = re.compile(
    r"(?i)greater|after|at_?least|newer|above|since|higher|(?:^|_)(?:ge|gt|geq|gte|min)(?:_|$)"
)
_SIGNS = {">=": True, ">": True, "ge": True, "gt": True, "<": False, "<=": False, "lt": False, "le": False}
_REQUIRING = re.compile(r"(?i)_?requires?$|_?(?:is_|version_)?at_least$|_?min(?:imum)?_version$")
"""Names of functions that ask for a version of torch if they get nothing but one."""
_MEMBER = re.compile(r"(?i)(?:pt|torch|v|version)?_?([12])_?(\d{1,2})(?:_\d+)?$")
"""A member of an enumeration of releases, after the letters that stand for torch: ``PT17``, ``V1_10``."""
_REQUIRES = re.compile(r"torch\s*(>=|>|<=|<)\s*v?(\d+)\.(\d+)")


def read_version(node: ast.expr) -> Version | None:
    """Return the version in ``"2.1"``, ``(2, 1)``, ``parse("2.1.0")``; None for anything else."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        return read_version(node.args[0])
    if isinstance(node, (ast.Tuple, ast.List)):
        numbers = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, int)]
        if len(numbers) != len(node.elts) or not numbers:
            return None
        return numbers[0], numbers[1] if len(numbers) > 1 else 0
    match = re.match(r"v?(\d+)(?:\.(\d+))?", string_value(node) or "")
    return (int(match[1]), int(match[2] or 0)) if match else None


def read_enumerated_version(node: ast.expr) -> Version | None:
    """Return the version that a member of an enumeration of torch's releases is named for: ``TorchVersions.PT17.value``."""
    member = node.value if isinstance(node, ast.Attribute) and node.attr == "value" else node
    if not isinstance(member, ast.Attribute) or not _SAYS_TORCH.search(last_name(member.value) or ""):
        return None
    match = _MEMBER.match(member.attr)
    return (int(match[1]), int(match[2])) if match else None


def is_torch_version(node: ast.AST, uses: SymbolUses, scope: Scope, depth: int = _DEPTH) -> bool:
    """Return whether an expression is torch's version, parsed or not, or a prefix of it."""
    if depth == 0:
        return False
    resolved = uses.names.resolve_expression(node, scope)
    if resolved is not None and resolved.names[0] in _VERSION:
        return True
    if isinstance(node, ast.Name):
        value = uses.data_flow.find_definition(node, scope)
        if value is not None:
            return is_torch_version(value, uses, scope, depth - 1)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return _SAYS_VERSION.search(last_name(node) or "") is not None or (
            isinstance(node, ast.Attribute)
            and node.attr in ("release", "base_version")
            and is_torch_version(node.value, uses, scope, depth - 1)
        )
    if isinstance(node, ast.Subscript):
        part = node.slice
        whole = isinstance(part, ast.Slice) and part.lower is None
        split = isinstance(part, ast.Constant) and part.value == 0 and _is_split_version(node.value)
        return (whole or split) and is_torch_version(node.value, uses, scope, depth)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("split", "replace", "strip"):
            return is_torch_version(node.func.value, uses, scope, depth - 1)
        if last_name(node.func) == "version" and node.args and string_value(node.args[0]) == "torch":
            return True
        if _SAYS_VERSION.search(last_name(node.func) or "") and not node.args:
            return True
        return any(is_torch_version(argument, uses, scope, depth - 1) for argument in node.args)
    if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
        return is_torch_version(node.generators[0].iter, uses, scope, depth - 1)
    return False


def read_release(compared: ast.expr, bound: ast.expr) -> Version | None:
    """Return the release of a companion that a version is compared with, or its second number: ``split(".")[1] < 7``."""
    is_second = any(
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 1
        for node in ast.walk(compared)
    )
    if is_second and isinstance(bound, ast.Constant) and type(bound.value) is int:
        return 0, bound.value
    return read_version(bound)


def find_companion_version(node: ast.expr, uses: SymbolUses, scope: Scope) -> str | None:
    """Return the companion of torch whose version an expression is, parsed or not; None for any other expression."""
    if isinstance(node, ast.Name) and (value := uses.data_flow.find_definition(node, scope)) is not None:
        node = value
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and inner.value in COMPANION_PACKAGES:
            return str(inner.value)  # importlib.metadata.version("torchvision")
        if isinstance(inner, ast.Attribute) and inner.attr == "__version__":
            resolved = uses.names.resolve_expression(inner, scope)
            if resolved is not None and resolved.names[0].partition(".")[0] in COMPANION_PACKAGES:
                return resolved.names[0].partition(".")[0]
    return None


def _is_split_version(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in ("split", "partition")


def read_named_bound(test: ast.expr) -> tuple[Version, bool] | None:
    """Return the version that a constant or function stands for whose name mentions torch's version.

    With it, whether the test is true from that version on; otherwise it is true below.
    """
    call = test if isinstance(test, ast.Call) else None
    name = last_name(call.func if call else test) or ""
    if isinstance(test, ast.Subscript):
        return None
    above = not _BELOW.search(name)
    bound: Version | None = None
    if call is not None:
        texts = [value for argument in call.args if (value := string_value(argument)) is not None]
        required = next((m for text in texts if (m := _REQUIRES.search(text))), None)
        if required is not None:
            above, bound = _SIGNS[required[1]], (int(required[2]), int(required[3]))
        elif _SAYS_TORCH.search(name) or "torch" in texts or _is_requirement(name, call):
            signs = [*texts, *(last_name(argument) or "" for argument in call.args)]
            stated = next((_SIGNS[sign] for sign in signs if sign in _SIGNS), None)
            if stated is None and not (_ABOVE.search(name) or _BELOW.search(name) or _REQUIRING.match(name)):
                return None
            above = above if stated is None else stated
            bound = next((v for argument in call.args if (v := read_version(argument)) is not None), None)
            numbers = [a.value for a in call.args if isinstance(a, ast.Constant) and type(a.value) is int]
            bound = bound or ((numbers[0], numbers[1]) if len(numbers) > 1 else None)
    said = _SAYS_RANGE.search(name)
    if bound is None and said is not None:
        bound = int(said[1]), int(said[2])
    return (bound, above) if bound is not None else None


def _is_requirement(name: str, call: ast.Call) -> bool:
    """Return whether a call of another module's function asks for a version: ``requires("2.5")``."""
    bound = read_version(call.args[0]) if len(call.args) == 1 and not call.keywords else None
    return _REQUIRING.match(name) is not None and bound is not None and bound[0] in (1, 2)


def names_major_version(node: ast.expr) -> bool:
    """Return whether a name is like ``TORCH_MAJOR`` or ``torch_major_version``."""
    return re.search(r"(?i)torch_?major|(?:^|_)pt_?major", last_name(node) or "") is not None
