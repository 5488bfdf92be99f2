"""The purpose of a call of `script` or `trace` whose result is not the point.

A test that something can be scripted, or a check of it, loses its meaning if another call replaces this one.
"""

from __future__ import annotations

import ast
import os
import re

from torchmigrate.api import Context, NoFix, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function
from torchmigrate.semantics.scopes import StatementPlace

from .._script.function_escapes import find_importers
from .torchscript_makers import SCRIPTS

_RAISING = re.compile(
    r"(assert_?)?(raises|warns|logs)|deprecated_call|does_not_raise|suppress", re.IGNORECASE
)
_ASSERTING = re.compile(r"assert|fail(If|Unless)|check_")
_TOPIC = re.compile(r"script|jit|trac(e|ing|able)", re.IGNORECASE)
_TEST_FILE = re.compile(r"tests?_.*|.*_tests?|conftest|tests?|Tests?([A-Z_].*)?|.*[a-z0-9_]Tests?")
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "unittest", "unittests"})
_TESTS = re.compile(
    rb"(?m)^[ \t]*(?:async )?def test|^[ \t]*class Test|^[ \t]*(?:import|from) (?:pytest|unittest|absl)\b"
)

_INSTEAD = "test the replacement with `torch.export.export(module, (inputs,))`"


def check_purpose(use: Use, ctx: Context) -> None:
    """Raise NoFix where a use tests, checks or registers something, instead of making something to be used."""
    verb = "be scripted" if use.symbol in SCRIPTS else "be traced"
    if _is_asserted(use, ctx):
        if not is_test_file(ctx):
            raise NoFix("the code around this call expects or suppresses an exception")
        raise NoFix(
            f"this test makes an assertion about TorchScript; remove it together with TorchScript, and {_INSTEAD}"
        )
    if use.call is not None and use.decorated is None and is_result_unused(use.call, use.place, ctx):
        if is_test_file(ctx):
            raise NoFix(
                f"this test checks that something can {verb}; remove it together with TorchScript, and {_INSTEAD}"
            )
        raise NoFix(
            f"nothing uses the result: the call registers something with TorchScript, or checks that something can {verb}; remove it together with TorchScript"
        )
    is_in_function = any(isinstance(statement, Function) for statement in use.place.enclosing_statements())
    if is_test_file(ctx) and (name := _find_topic(use) or _match_file(ctx.source.path)):
        raise NoFix(f"`{name}` is about TorchScript; remove it together with TorchScript, and {_INSTEAD}")
    if is_test_file(ctx) and ctx.options.keep_torchscript_support and is_in_function:
        raise NoFix(
            f"this test covers TorchScript support for users of the project; when that ends (`keep-torchscript-support = false`), remove it, and {_INSTEAD}"
        )


def check_plain_result(call: ast.Call, given: ast.expr, place: StatementPlace, ctx: Context) -> None:
    """Raise NoFix where ``scripted = torch.jit.script(plain)`` would become ``scripted = plain``, or an option do nothing.

    A variable with such a name is there to be chosen, compared or printed next to the plain one, and so is any variable in a
    function of a test.
    """
    target = _find_target(call, ctx)
    is_same = target is not None and ast.unparse(target) == ast.unparse(given)
    if switch := _find_switch(place, is_emptied=is_same and all(map(_is_rebinding, place.block))):
        raise NoFix(
            f"the option on line {switch.lineno} enables TorchScript, and would no longer have an effect"
        )
    if not isinstance(target, ast.Name) or place.scope.is_class:
        return
    if _TOPIC.search(target.id) and ast.unparse(given) != target.id:
        raise NoFix(
            f"`{target.id}` would become another name for `{ctx.get_text(given)}`, and a misleading one"
        )
    is_local = isinstance(place.scope.node, Function)
    if is_local and is_test_file(ctx) and isinstance(given, ast.Name) and given.id != target.id:
        raise NoFix(
            f"this test compares `{target.id}` with `{given.id}`, and both would become the same object"
        )


def _is_rebinding(statement: ast.stmt) -> bool:
    """Return whether a statement rebinds a name to the result of a call on it, so that nothing is left without the call."""
    match statement:
        case ast.Assign(targets=[target], value=ast.Call() as call):
            given = find_argument(call, 0, "obj", "mod", "func")
            return given is not None and ast.unparse(given) == ast.unparse(target)
    return False


def _find_switch(place: StatementPlace, *, is_emptied: bool) -> ast.If | None:
    """Return the condition around a statement, within its function, whose names show that it is about TorchScript.

    If nothing would be left below the innermost condition, that one is returned in any case.
    """
    for number, statement in enumerate(place.enclosing_statements()):
        if isinstance(statement, (Function, ast.ClassDef)):
            return None
        if isinstance(statement, ast.If) and ((is_emptied and number == 0) or _match_test(statement)):
            return statement
    return None


def _find_target(call: ast.Call, ctx: Context) -> ast.expr | None:
    """Return the variable that a call's result is assigned to, maybe after being called: ``y = torch.jit.script(f)(x)``."""
    inner: ast.AST = call
    while isinstance(inner, (ast.Call, ast.Attribute)):
        outer = ctx.uses.data_flow.parents[inner]
        if isinstance(outer, ast.Call) and outer.func is not inner:
            return None
        inner = outer
    return inner.targets[0] if isinstance(inner, ast.Assign) and len(inner.targets) == 1 else None


def check_class(definition: ast.ClassDef, ctx: Context) -> None:
    """Raise NoFix where a test has a class only to check how TorchScript modules are handled."""
    if is_test_file(ctx) and (name := _match_name(definition.name) or _match_file(ctx.source.path)):
        raise NoFix(f"`{name}` is about TorchScript; remove it together with TorchScript, and {_INSTEAD}")


def _match_name(name: str) -> str | None:
    return name if _TOPIC.search(name) else None


def _match_test(statement: ast.If) -> str | None:
    """Return the first name in a condition that is about TorchScript."""
    return next(filter(_match_name, (last_name(node) or "" for node in ast.walk(statement.test))), None)


def is_test_file(ctx: Context) -> bool:
    """Return whether a file defines tests, or is imported by one that does; a benchmark beside them is none."""
    if not _is_named_as_test(ctx.source.path):
        return False
    if _TESTS.search(ctx.source.text) or os.path.basename(ctx.source.path) == "conftest.py":
        return True
    return any(map(_is_named_as_test, find_importers(ctx)))


def _is_named_as_test(path: str) -> bool:
    *folders, name = path.replace(os.sep, "/").split("/")
    return bool(_TEST_FILE.fullmatch(name.partition(".")[0])) or not _TEST_FOLDERS.isdisjoint(folders[-4:])


def is_result_unused(value: ast.expr, place: StatementPlace, ctx: Context) -> bool:
    """Return whether nothing uses the value of an expression, which is then there for its effect."""
    statement = place.statement
    if isinstance(statement, ast.Expr) and statement.value is value:
        return True
    if not isinstance(statement, ast.Assign) or statement.value is not value:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or len(statement.targets) > 1:
        return False
    if target.id == "_":
        return True
    if target.id in place.scope.outer:
        return False
    if not isinstance(place.scope.node, Function) and not _is_demonstration(target.id, value, place, ctx):
        return False
    reaching = ctx.uses.data_flow.find_reaching(target.id, place.scope)
    return not reaching.captured and not any(target in state for state in reaching.reads.values())


def _is_demonstration(name: str, value: ast.expr, place: StatementPlace, ctx: Context) -> bool:
    """Return whether a module scripts or traces new instances under one name, and nothing imports it: it shows that this works."""
    given = value.args[0] if isinstance(value, ast.Call) and value.args else None
    # A model that the module goes on to use has a name of its own.
    is_rebound = len(place.scope.bindings[name]) > 1
    return (
        is_rebound and isinstance(given, ast.Call) and place.scope.parent is None and not find_importers(ctx)
    )


def _is_asserted(use: Use, ctx: Context) -> bool:
    """Return whether the use is in an assertion of its own, or under one about what it raises."""
    inner: ast.AST = use.call or use.node
    for parent in reversed(use.parents):
        if parent is inner:
            continue
        if isinstance(parent, ast.Call) and parent.func is inner:
            break  # of the result, something else is asserted
        if isinstance(parent, ast.Assert):
            return True
        if isinstance(parent, ast.Call) and _ASSERTING.match(last_name(parent.func) or ""):
            return True
        inner = parent
    for statement in use.place.enclosing_statements():
        if isinstance(statement, Function):
            break
        for item in statement.items if isinstance(statement, (ast.With, ast.AsyncWith)) else ():
            entered = item.context_expr
            if isinstance(entered, ast.Call) and _RAISING.match(last_name(entered.func) or ""):
                return True
    return False


def _match_file(path: str) -> str | None:
    """Return the name of a file whose tests are about TorchScript by that name: ``test_jit.py``."""
    name = os.path.basename(path)
    return name if re.search(r"(?<![a-z])(jit|torch_?script)(?![a-z])", name) else None


def _find_topic(use: Use) -> str | None:
    """Return what shows that the test around a use is about TorchScript: the name of a function, a class or a condition."""
    for statement in use.place.enclosing_statements():
        if isinstance(statement, (Function, ast.ClassDef)) and _TOPIC.search(statement.name):
            return statement.name
        if isinstance(statement, ast.If) and (name := _match_test(statement)):
            return name
    return None
