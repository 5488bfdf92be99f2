r"""A large checkpoint that `torch.load` reads into memory as a whole, although it can be mapped.

Why: without `mmap=True`, `torch.load` reads all tensors into memory before the first one is used, so that a process needs the
size of the checkpoint beside the model, and each process of a node needs it again. With it, the file is mapped: pages are read
when a tensor is used, processes share them, and the system can drop them again.

    state = torch.load(f"{folder}/consolidated.{rank:02d}.pth", map_location="cpu")
    →
    state = torch.load(f"{folder}/consolidated.{rank:02d}.pth", map_location="cpu", mmap=True)

Reported are loads for the CPU of a part of a checkpoint (`consolidated.00.pth`, `pytorch_model-00001-of-00003.bin`), and of a
checkpoint whose tensors become the model's, by `load_state_dict(…, assign=True)`, unless an optimizer's state is loaded beside
it: training may go on to write the same file. Nothing else in code tells how large a checkpoint is; for yours, the same argument
is right if it is larger than you like to see in memory twice.

Needs: torch 2.1, and 2.3 if the path is no string; a path, not an open file; and a file that `torch.save` of torch 1.6 or newer
wrote. Others are refused with a message. `weights_only` may be either, and `map_location` any: what goes to a GPU is copied
there from the mapping.

Brings: memory, and a start that does not wait for the whole file. It reads slower where tensors are read in another order than they
are stored in, on network file systems above all.

When not: the file is overwritten while its tensors are in use, which ends the process with a bus error. Functions that also call
`torch.save`, and tests, are not reported.

Fix safety: unsafe, since a file in the format from before torch 1.6 is refused. Values are the same; what is written to the
tensors stays in memory (`MAP_PRIVATE`).

Measure: the line `VmHWM` of `/proc/self/status` after loading, with both.

Source: torch 2.1, 2.3 and 2.13 wheels: torch/serialization.py (`load`, `_is_path`, `set_default_mmap_options`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NeedsTorch, Rule, Safety, Use
from torchmigrate.model.rule import Calls
from torchmigrate.rewrite.changes import AddArgument, template
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name, string_value

from ._analyses.advice_findings import create_advice
from ._analyses.enclosing_nodes import enclosing_body, walk_body

rule = Rule(
    code="AD907",
    symbols=("torch.load",),
    pairs={"torch.load": ("consolidated", "of", "assign")},
    calls={"torch.load": Calls(without=frozenset({"mmap"}))},
    message="the whole checkpoint is read into memory here; `mmap=True` reads its tensors when they are used",
    since=(2, 1),
    safety=Safety.UNSAFE,
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_PATHS_SINCE = (2, 3)
"""The torch from which on a mapped file may be given as any path, and not only as a string."""
_PART = re.compile(r"consolidated\.|-of-(?:\d|$|\*|\{)")
"""The name of a part of a checkpoint."""
_PATH_NAME = re.compile(r"(?i)path|ckpt|checkpoint|file_?name|weights$")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call
    given = find_argument(call, 0, "f") if call is not None else None
    if call is None or given is None or not _is_for_cpu(call, use, ctx):
        return
    path = (
        ctx.uses.data_flow.find_definition(given, use.place.scope) if isinstance(given, ast.Name) else given
    )
    texts = list(_find_texts(path or given, use, ctx))
    is_part = any(_PART.search(text) for text in texts)
    body = enclosing_body(use, ctx)
    if not is_part and not (_PATH_NAME.search(ast.unparse(given)) and _is_assigned(call, body)):
        return
    if _is_file(given, body) or _has_save(body):
        return
    yield from create_advice(use, ctx, fix=lambda: _create_fix(call, path, ctx))


def _create_fix(call: ast.Call, path: ast.expr | None, ctx: Context) -> Fix:
    if not _is_text(path) and ctx.options.minimum < _PATHS_SINCE:
        raise NeedsTorch(_PATHS_SINCE, ctx.options.minimum)
    change = AddArgument(call, template("True"), keyword="mmap")
    return Fix((change,), Safety.UNSAFE, "Add `mmap=True`")


def _is_for_cpu(call: ast.Call, use: Use, ctx: Context) -> bool:
    """Return whether a load leaves all tensors on the CPU, as far as the call says."""
    location = find_argument(call, 1, "map_location")
    if isinstance(location, ast.Call) and len(location.args) == 1:
        location = location.args[0] if ctx.is_named(location.func, use, "torch.device") else None
    if isinstance(location, ast.Lambda) and location.args.args:
        return ast.unparse(location.body) == location.args.args[0].arg
    return location is not None and string_value(location) == "cpu"


def _find_texts(path: ast.expr, use: Use, ctx: Context) -> Iterator[str]:
    """Yield the strings in an expression, and in what certainly was assigned to its names."""
    for node in ast.walk(path):
        if isinstance(node, ast.JoinedStr):
            yield "".join(string_value(part) or "{" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Name) and node is not path:
            made = ctx.uses.data_flow.find_definition(node, use.place.scope)
            yield from (
                one.value
                for one in ast.walk(made or node)
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            )


def _is_text(path: ast.expr | None) -> bool:
    """Return whether an expression certainly is a string, and not another path."""
    match path:
        case ast.Call(func=function):
            return ast.unparse(function) in ("str", "os.path.join")
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_text(left) or _is_text(right)
    return isinstance(path, ast.JoinedStr | ast.Constant)


def _is_assigned(call: ast.Call, body: list[ast.stmt]) -> bool:
    """Return whether ``load_state_dict(…, assign=True)`` gets what a call loads, or a part of it, to use and not to train on."""
    names: set[str] = set()
    for node in walk_body(body):
        if isinstance(node, ast.Assign) and _mentions(node.value, names, call):
            names.update(
                one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)
            )
    calls = [node for node in walk_body(body) if isinstance(node, ast.Call)]
    return not any("optim" in ast.unparse(one.func) for one in calls) and any(
        last_name(one.func) == "load_state_dict"
        and any(keyword.arg == "assign" and ast.unparse(keyword.value) == "True" for keyword in one.keywords)
        and any(_mentions(argument, names, call) for argument in one.args)
        for one in calls
    )


def _mentions(node: ast.AST, names: set[str], call: ast.Call) -> bool:
    return any(one is call or (isinstance(one, ast.Name) and one.id in names) for one in ast.walk(node))


def _is_file(given: ast.expr, body: list[ast.stmt]) -> bool:
    """Return whether an expression opens a file, or is named by a ``with`` or by such an expression."""
    opened = (item for node in walk_body(body) if isinstance(node, ast.With) for item in node.items)
    names = {ast.unparse(item.optional_vars) for item in opened if item.optional_vars is not None}
    names.update(
        ast.unparse(target)
        for node in walk_body(body)
        if isinstance(node, ast.Assign) and _is_opening(node.value)
        for target in node.targets
    )
    return _is_opening(given) or ast.unparse(given) in names


def _is_opening(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) in ("open", "BytesIO")


def _has_save(body: list[ast.stmt]) -> bool:
    calls = (node for node in walk_body(body) if isinstance(node, ast.Call))
    return any(ast.unparse(call.func) == "torch.save" for call in calls)
