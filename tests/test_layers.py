"""The layers of packages: each says what it is for, and none imports from a higher one.

Imports count wherever they are: at run time, inside a function, or for the type checker only.
"""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

LAYERS = (
    "model",
    "console",
    "tables",
    "text",
    "prefilter",
    "semantics",
    "rewrite",
    "proof",
    "record",
    "project",
    "settings",
    "documents",
    "foreign",
    "engine",
    "api",
    "rules",
    "reporters",
    "run",
    "adoption",
    "plan",
    "trials",
    "probe",
    "server",
    "artifacts",
    "cli",
    "survey",
    "library",
)
"""From the lowest to the highest; `torchmigrate` itself, which is its version, is below, and `__main__` above."""

OPEN_TO_RULES = {
    "api",
    "model",
    "tables",
    "text",
    "semantics",
    "rewrite",
    "record",
    "project",
    "documents",
    "foreign",
}
"""What the author of a rule may use: the facts about code, projects and torch, and what makes edits."""

ENGINE = {"engine", "proof", "settings", "prefilter", "console"}
"""What is below the rules, and none of their business."""


class Module(NamedTuple):
    """One module by its name, and all others that it imports."""

    name: str
    path: Path
    tree: ast.Module
    imports: frozenset[str]

    @property
    def layer(self) -> str:
        """The layer that it belongs to."""
        return layer_of(self.name)

    @property
    def is_rule(self) -> bool:
        """Whether it lies where every module is a rule."""
        inside = self.name.split(".")[2:]
        is_package = self.path.name == "__init__.py"
        return self.layer == "rules" and not is_package and not any(part.startswith("_") for part in inside)


def layer_of(name: str) -> str:
    """Return the layer of a module; "" for the package itself."""
    return (*name.split("."), "")[1]


def height(layer: str) -> int:
    """Return the position of a layer, from the lowest."""
    return ("", *LAYERS, "__main__").index(layer)


def name_of(path: Path) -> str:
    """The name of the module at ``path``."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    if parts[0] == "rules":
        parts.insert(0, "torchmigrate")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.Module, package: str, known: frozenset[str]) -> Iterator[str]:
    """The modules among ``known`` that a module in ``package`` imports; a name of a module counts as an import of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        if isinstance(node, ast.ImportFrom):
            around = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*around, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                if inner in known or module in known:
                    yield inner if inner in known else module


def read_all() -> dict[str, Module]:
    """Every module of the tool and of its rules, by name."""
    paths = {name_of(path): path for top in ("torchmigrate", "rules") for path in (ROOT / top).rglob("*.py")}
    known = frozenset(paths)
    modules = {}
    for name, path in paths.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        modules[name] = Module(name, path, tree, frozenset(imported(tree, package, known)) - {name})
    return modules


MODULES = read_all()
RULES = [module for module in MODULES.values() if module.is_rule]


def test_the_order_names_every_layer() -> None:
    assert {module.layer for module in MODULES.values()} == {*LAYERS, "", "__main__"}
    assert set(LAYERS[: LAYERS.index("rules")]) == OPEN_TO_RULES | ENGINE


def test_no_import_goes_upward() -> None:
    upward = [
        f"{module.name} -> {other}"
        for module in MODULES.values()
        for other in module.imports
        if height(layer_of(other)) > height(module.layer)
    ]
    assert upward == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    sorter = graphlib.TopologicalSorter({module.name: module.imports for module in MODULES.values()})
    try:
        sorter.prepare()
    except graphlib.CycleError as circle:
        pytest.fail(" <- ".join(circle.args[1]))


@pytest.mark.parametrize(
    "package",
    [module for module in MODULES.values() if module.path.name == "__init__.py"],
    ids=lambda m: m.name,
)
def test_every_package_says_what_it_is_for(package: Module) -> None:
    assert ast.get_docstring(package.tree)
    imports = [node for node in ast.walk(package.tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert imports == [], "every run waits for what a package's first module imports"


def test_every_folder_is_a_package() -> None:
    folders = {module.path.parent for module in MODULES.values()}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("module", RULES, ids=lambda module: module.name)
def test_a_module_of_a_family_is_one_rule(module: Module) -> None:
    defined = [
        node
        for node in module.tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if isinstance(node.value.func, ast.Name) and re.fullmatch(r"Rule|create_\w*rule", node.value.func.id)
    ]
    assert [ast.unparse(target) for node in defined for target in node.targets] == ["rule"]


@pytest.mark.parametrize("module", RULES, ids=lambda module: module.name)
def test_nothing_imports_a_rule(module: Module) -> None:
    assert [other.name for other in MODULES.values() if module.name in other.imports] == []


@pytest.mark.parametrize(
    "module",
    [module for module in MODULES.values() if module.layer == "rules"],
    ids=lambda module: module.name,
)
def test_rules_use_what_is_open_to_them(module: Module) -> None:
    assert {layer_of(name) for name in module.imports} <= {*OPEN_TO_RULES, "rules"}


@pytest.mark.parametrize(
    "module",
    [module for module in MODULES.values() if module.layer == "rules"],
    ids=lambda module: module.name,
)
def test_no_family_uses_another(module: Module) -> None:
    """What several families share belongs to a package of the engine."""
    family = module.name.split(".")[2:3]
    rules_imported = [name.split(".") for name in module.imports if layer_of(name) == "rules"]
    assert [name for name in rules_imported if len(name) > 2 and name[2:3] != family] == []
