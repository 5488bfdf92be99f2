"""Regenerates ``torchmigrate/tables/data/unrelated.json`` from Spack's recipes.

    python -m tools.read_spack https://github.com/spack/spack-packages

Spack describes some three thousand projects of the package index: what each requires, over all of its releases and
variants. A project goes into the table if neither it nor anything that it requires, over any number of steps, requires
torch or CUDA, or bounds what torch requires too so that a new torch could not be installed beside it: of such a
project each release goes with each torch. All others are left out, and so not known. What ``requirements.json`` has
read in the wheels goes before the recipes, which serve old compilers and Pythons too.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from tools.read_wheels import DATA

FOLDER = "repos/spack_repo/builtin/packages"
SHARED = {
    "py-fsspec": (0, 8, 5),
    "py-networkx": (2, 5, 1),
    "py-setuptools": (77, 0, 3),
    "py-sympy": (1, 13, 3),
    "py-typing-extensions": (4, 13, 0),
}
"""The requirements of torch 2.15 with their lowest releases; an older torch requires no more. See ``requirements.json``."""
RELATED = re.compile(r"torch|cuda|cudnn|nccl|rocm|hip\b|triton|tensorflow|^py-tf-|^py-jax")
"""Matches the names of packages for one torch or one GPU toolkit, and of packages with CUDA libraries of their own."""


@dataclass
class Recipe:
    """The project of a Spack package on the index, and its run-time requirements."""

    project: str | None = None
    required: set[str] = field(default_factory=set)
    is_free: bool = True
    """Whether the recipe itself restricts neither torch nor the requirements of torch."""


def read(source: str) -> Recipe:
    """Read a recipe."""
    recipe = Recipe()
    for call, types in _calls(ast.parse(source), None):
        if types is not None and "run" not in types:
            continue
        asked = re.match(r"(?P<name>[\w-]+)(?:@=?(?P<range>[\w.:,-]+))?", _text(call.args[0]))
        if asked is None:
            recipe.is_free = False  # the name is worked out in the recipe
            continue
        recipe.required.add(asked["name"])
        if RELATED.search(asked["name"]) or _is_below(asked["range"], SHARED.get(asked["name"])):
            recipe.is_free = False
    if found := re.search(r"^    pypi = [\"']([^/\"']+)/", source, re.MULTILINE):
        recipe.project = canonicalize_name(found[1])
    return recipe


def _calls(node: ast.AST, types: str | None) -> Iterator[tuple[ast.Call, str | None]]:
    """Yield the calls of ``depends_on``, each with the types of dependency from the call or an enclosing block."""
    if isinstance(node, ast.With):
        for item in node.items:
            if isinstance(item.context_expr, ast.Call):
                types = _types(item.context_expr) or types
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "depends_on":
        yield node, _types(node) or types
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, types)


def _text(node: ast.expr) -> str:
    """Return the literal beginning of a string, up to its first replacement field."""
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0] if isinstance(node.values[0], ast.Constant) else node
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _types(call: ast.Call) -> str | None:
    return next((ast.unparse(one.value) for one in call.keywords if one.arg == "type"), None)


def _is_below(versions: str | None, needed: tuple[int, ...] | None) -> bool:
    """Return whether a version range in Spack's syntax ends before a release: ``:4`` means all of 4."""
    if not versions or needed is None:
        return False
    last = versions.split(",")[-1].rpartition(":")[2]
    numbers = tuple(int(part) for part in re.findall(r"\d+", last))
    return bool(numbers) and numbers < needed[: len(numbers)]


def unrelated(recipes: dict[str, Recipe], known: dict[str, bool]) -> set[str]:
    """Return the projects whose direct and indirect requirements have nothing to do with torch.

    Of those that are ``known`` (to require torch or not) it is not asked again, and they are left out.
    """
    asked = {name: recipe for name, recipe in recipes.items() if not known.get(recipe.project or "")}
    bound = {name for name, recipe in asked.items() if not recipe.is_free or RELATED.search(name)}
    while more := {name for name, recipe in asked.items() if name not in bound and recipe.required & bound}:
        bound |= more
    free = {recipe.project for name, recipe in asked.items() if name not in bound and recipe.project}
    return free - {asked[name].project for name in bound} - known.keys()


def known() -> dict[str, bool]:
    """Return the projects in the other tables, each with whether no release of it requires torch."""
    rows = [*_table("requirements.json"), *_table("compiled.json")]
    return {row["project"]: all(torch is None for _, torch in row.get("torch", [("", "")])) for row in rows}


def _table(name: str) -> Any:
    return json.loads((DATA / name).read_text("utf-8"))


def main() -> None:
    """Clone the repository and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", help="the URL of spack-packages, or the folder of a clone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", folder]
        subprocess.run(["git", "clone", "--quiet", "--depth=1", options.repository, folder], check=True)
        commit = subprocess.run(
            [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
        ).stdout
        recipes = {
            path.parent.name.replace("_", "-"): read(path.read_text("utf-8"))
            for path in Path(folder, FOLDER).glob("py_*/package.py")
        }
    table = {
        "evidence": "documented",
        "source": f"https://github.com/spack/spack-packages/tree/{commit.strip()}/{FOLDER}",
        "projects": sorted(unrelated(recipes, known())),
    }
    (DATA / "unrelated.json").write_text(json.dumps(table, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
