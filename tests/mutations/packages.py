"""Break the packages in small ways, a random sample of each, and let the tests of the package find out.

``python -m tests.mutations.packages foreign server --sample 20`` prints the mutants that no test notices. Each trial runs
in a copy of the repository, since much of what is tested runs in processes of its own; a trial ends with the first
test that fails. `TESTS` says which tests answer for which package.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "torchmigrate"
SECONDS = 240
"""How long the tests may take for one mutant; one that they do not end with is caught."""

_FIXTURES = "tests/rules/test_fixtures.py"
TESTS: dict[str, tuple[str, ...]] = {
    "adoption": ("tests/test_adoption.py", "tests/test_suppress.py"),
    "artifacts": ("tests/artifacts", "tests/test_foreign.py"),
    "cli": (
        "tests/test_cli.py",
        "tests/test_program.py",
        "tests/test_config.py",
        "tests/ledger",
        "tests/trials",
    ),
    "console": ("tests/faults/test_terminal.py", "tests/test_reporters.py", "tests/test_cli.py"),
    "documents": (
        "tests/test_documents.py",
        "tests/test_environments.py",
        "tests/test_environment.py",
        _FIXTURES,
    ),
    "engine": ("tests/test_engine.py", "tests/test_suppress.py", "tests/test_edits.py", _FIXTURES),
    "foreign": ("tests/test_foreign.py", _FIXTURES),
    "prefilter": ("tests/test_pairs.py", "tests/test_watch.py", "tests/test_engine.py", _FIXTURES),
    "model": ("tests/test_versions.py", "tests/test_engine.py", "tests/test_watch.py", _FIXTURES),
    "plan": ("tests/test_plan.py",),
    "probe": ("tests/probe",),
    "project": (
        "tests/test_project.py",
        "tests/test_files.py",
        "tests/test_patterns.py",
        "tests/test_exports.py",
        _FIXTURES,
    ),
    "proof": ("tests/proof", "tests/test_edits.py", "tests/test_mending.py"),
    "reporters": ("tests/test_reporters.py", "tests/test_formats.py", "tests/test_diff.py"),
    "rewrite": ("tests/rewrite", "tests/test_changes.py", _FIXTURES),
    "run": (
        "tests/test_runner.py",
        "tests/test_cache.py",
        "tests/test_joint.py",
        "tests/test_workers.py",
        "tests/test_write.py",
    ),
    "semantics": (
        "tests/test_resolve.py",
        "tests/test_uses.py",
        "tests/test_flow.py",
        "tests/test_guards.py",
        _FIXTURES,
    ),
    "server": ("tests/server",),
    "settings": ("tests/test_config.py", "tests/faults/test_hostile_settings.py"),
    "tables": ("tests/ledger", "tests/probe", _FIXTURES),
    "text": ("tests/test_source.py", "tests/test_tokens.py", "tests/test_notebook.py", _FIXTURES),
    "trials": ("tests/trials",),
}
"""The tests of each package, those that take least time first."""

_OPPOSITE: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}


@dataclass(frozen=True)
class Edit:
    """One fault of a module: ``new`` instead of the bytes ``[start, end)`` of the file at ``path``."""

    path: Path
    line: int
    start: int
    end: int
    new: str

    def apply(self, data: bytes) -> bytes:
        """Return the text of the broken module."""
        return data[: self.start] + self.new.encode() + data[self.end :]

    def describe(self) -> str:
        """Return the place, the old text and the new one, in one line."""
        old = self.path.read_bytes()[self.start : self.end].decode()
        return f"{self.path.relative_to(ROOT)}:{self.line}: {' '.join(old.split())} → {' '.join(self.new.split())}"


def find_edits(path: Path) -> Iterator[Edit]:
    """Yield the faults that a module can have: another operator, condition, constant or result, a call left out."""
    data = path.read_bytes()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def replace(node: ast.expr | ast.stmt, new: str) -> Edit:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        end = starts[node.end_lineno - 1] + node.end_col_offset
        return Edit(path, node.lineno, starts[node.lineno - 1] + node.col_offset, end, new)

    tree = ast.parse(data)
    for node in _walk_code(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            yield replace(node, f"({left} {_OPPOSITE[type(node.ops[0])]} {right})")
        elif isinstance(node, ast.BoolOp):
            other = " or " if isinstance(node.op, ast.And) else " and "
            yield replace(node, f"({other.join(f'({ast.unparse(value)})' for value in node.values)})")
        elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
            yield replace(node.test, f"(not ({ast.unparse(node.test)}))")
        elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
            yield replace(node.value, "None")
        elif isinstance(node, ast.Constant) and _can_change(node.value):
            yield replace(node, f"({_change_constant(node.value)!r})")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield replace(node, "pass")


def _walk_code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run: no docstrings, no annotations, nothing inside of f-strings or type-checking blocks."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(
                child, (ast.JoinedStr, ast.Import, ast.ImportFrom)
            ):
                continue
            is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            is_typing = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            if not (is_docstring or is_typing):
                yield from _walk_code(child)


def _can_change(value: object) -> bool:
    # Another wording is noticed by the list of all messages.
    return isinstance(value, (bool, int, bytes)) or (isinstance(value, str) and " " not in value)


def _change_constant(value: Any) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return value + (b"x" if isinstance(value, bytes) else "x")


def draw_edits(package: str, count: int, seed: int) -> list[Edit]:
    """Return ``count`` faults of a package, drawn at random among all; fewer if it has not so many."""
    paths = sorted((PACKAGES / package).rglob("*.py"))
    found = [edit for path in paths if "snippets" not in path.parts for edit in find_edits(path)]
    return random.Random(f"{package} {seed}").sample(found, min(count, len(found)))


def copy_repository(folder: Path) -> None:
    """Copy what the tests need into ``folder``, where the package is found with its rules without being installed."""
    ignored = shutil.ignore_patterns(".*", "site", "__pycache__")
    shutil.copytree(ROOT, folder, ignore=ignored, symlinks=True)
    with contextlib.suppress(FileExistsError):
        (folder / "torchmigrate" / "rules").symlink_to("../rules", target_is_directory=True)


def run_tests(folder: Path, tests: Sequence[str]) -> bool:
    """Run tests in a copy of the repository; return whether all of them pass within `SECONDS`."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n0",
        "--no-header",
        "-p",
        "no:cacheprovider",
        *tests,
    ]
    environ = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(SECONDS) == 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False


def try_edits(edits: Sequence[tuple[str, Edit]], jobs: int) -> Iterator[tuple[str, Edit, bool]]:
    """Yield each package and fault with whether a test notices, in the order in which they are decided."""
    pending: queue.SimpleQueue[tuple[str, Edit]] = queue.SimpleQueue()
    for edit in edits:
        pending.put(edit)
    decided: queue.SimpleQueue[tuple[str, Edit, bool]] = queue.SimpleQueue()

    def work(folder: Path) -> None:
        copy_repository(folder)
        with contextlib.suppress(queue.Empty):
            while True:
                package, edit = pending.get_nowait()
                target = folder / edit.path.relative_to(ROOT)
                whole = target.read_bytes()
                target.write_bytes(edit.apply(whole))
                passed = run_tests(folder, TESTS[package])
                target.write_bytes(whole)
                decided.put((package, edit, not passed))

    with tempfile.TemporaryDirectory() as top:
        threads = [
            threading.Thread(target=work, args=(Path(top) / str(n),), daemon=True) for n in range(jobs)
        ]
        for thread in threads:
            thread.start()
        for _ in edits:
            yield decided.get()
        for thread in threads:
            thread.join()


def main() -> int:
    """Print the surviving mutants and the share that is caught; return 0 if it is 90 % in each package."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations.packages", description=__doc__)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="packages of torchmigrate (all)")
    parser.add_argument("--sample", type=int, default=10, metavar="N", help="mutants of each package (10)")
    parser.add_argument("--seed", type=int, default=0, help="draws others (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    options = parser.parse_args()
    packages = options.packages or sorted(TESTS)
    edits = [(name, edit) for name in packages for edit in draw_edits(name, options.sample, options.seed)]
    caught = dict.fromkeys(packages, 0)
    for package, edit, noticed in try_edits(edits, options.jobs):
        caught[package] += noticed
        if not noticed:
            print(edit.describe(), flush=True)
    counts = {name: sum(package == name for package, _ in edits) for name in packages}
    for name in packages:
        print(f"{name:12} {caught[name]:4} of {counts[name]} caught")
    return int(any(caught[name] < 0.9 * counts[name] for name in packages))


if __name__ == "__main__":
    sys.exit(main())
