"""Break the packages in small ways, a random sample of each, and let the tests of the package find out.

``python -m tests.mutations.packages foreign server --sample 20`` prints the mutants that no test notices. A copy of the
repository holds all of them, each behind a switch (`tests.mutations.switch`). One run of the tests in `TESTS` records
which of them reach which mutant; then each mutant is switched on for these alone, until the first one fails.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mutations.selection import FIXTURES
from tests.mutations.survivors import EQUIVALENT

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "torchmigrate"
MOST = 400
"""How many tests judge a mutant; of more, some are drawn."""

TESTS: dict[str, tuple[str, ...]] = {
    "adoption": ("tests/test_adoption.py", "tests/test_suppress.py", "tests/test_git.py"),
    "artifacts": ("tests/artifacts", "tests/test_foreign.py"),
    "cli": (
        "tests/test_cli.py",
        "tests/test_program.py",
        "tests/test_config.py",
        "tests/test_library.py",
        "tests/test_lower_bounds.py",
        "tests/test_adoption.py",
        "tests/test_plan.py",
        "tests/probe/test_command.py",
        "tests/probe/test_project.py",
        "tests/ledger",
        "tests/trials",
    ),
    "console": (
        "tests/faults/test_terminal.py",
        "tests/test_reporters.py",
        "tests/test_cli.py",
        "tests/test_diff.py",
        "tests/test_plan.py",
    ),
    "documents": (
        "tests/test_documents.py",
        "tests/test_environments.py",
        "tests/test_environment.py",
        FIXTURES,
    ),
    "engine": (
        "tests/test_engine.py",
        "tests/test_faults.py",
        "tests/test_context_names.py",
        "tests/test_suppress.py",
        "tests/test_edits.py",
        FIXTURES,
    ),
    "foreign": ("tests/test_foreign.py", FIXTURES),
    "prefilter": ("tests/test_pairs.py", "tests/test_watch.py", "tests/test_engine.py", FIXTURES),
    "model": ("tests/test_versions.py", "tests/test_engine.py", "tests/test_watch.py", FIXTURES),
    "plan": ("tests/test_plan.py",),
    "probe": ("tests/probe",),
    "project": (
        "tests/test_project.py",
        "tests/test_files.py",
        "tests/test_patterns.py",
        "tests/test_exports.py",
        "tests/test_elsewhere.py",
        "tests/test_expected.py",
        "tests/test_importing.py",
        "tests/test_reachable_code.py",
        FIXTURES,
    ),
    "proof": ("tests/proof", "tests/test_edits.py", "tests/test_mending.py"),
    "record": ("tests/record",),
    "reporters": (
        "tests/test_reporters.py",
        "tests/test_formats.py",
        "tests/test_diff.py",
        "tests/test_mending.py",
    ),
    "rewrite": ("tests/rewrite", "tests/test_changes.py", FIXTURES),
    "run": (
        "tests/test_runner.py",
        "tests/test_cache.py",
        "tests/test_joint.py",
        "tests/test_workers.py",
        "tests/test_write.py",
        "tests/test_wire.py",
        "tests/test_trees.py",
        "tests/test_faults.py",
        "tests/test_plan.py",
    ),
    "semantics": (
        "tests/test_resolve.py",
        "tests/test_uses.py",
        "tests/test_flow.py",
        "tests/test_guards.py",
        "tests/test_calls.py",
        "tests/test_nodes.py",
        FIXTURES,
    ),
    "server": ("tests/server",),
    "settings": (
        "tests/test_config.py",
        "tests/test_environment.py",
        "tests/test_trees.py",
        "tests/faults/test_hostile_settings.py",
    ),
    "survey": ("tests/survey",),
    "tables": ("tests/ledger", "tests/probe", FIXTURES),
    "text": ("tests/test_source.py", "tests/test_tokens.py", "tests/test_notebook.py", FIXTURES),
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
    """One fault of a module: the expression ``new`` instead of the bytes ``[start, end)`` of the file at ``path``."""

    path: Path
    line: int
    start: int
    end: int
    new: str
    is_static: bool
    """Whether it is evaluated when the module is imported."""

    @property
    def old(self) -> str:
        """The expression that is replaced."""
        return self.path.read_bytes()[self.start : self.end].decode()

    @property
    def module(self) -> str:
        """The path of the module in the repository."""
        return self.path.relative_to(ROOT).as_posix()

    def describe(self) -> str:
        """Return the place, the old text and the new one, in one line."""
        return f"{self.module}:{self.line}: {' '.join(self.old.split())} → {' '.join(self.new.split())}"

    def is_equivalent(self) -> bool:
        """Return whether `EQUIVALENT` says that the fault changes nothing."""
        line = self.path.read_text("utf-8").splitlines()[self.line - 1]
        return any(self.module == path and part in line and self.new == new for path, part, new in EQUIVALENT)


def find_edits(path: Path) -> Iterator[Edit]:
    """Yield the faults that a module can have: another operator, condition, constant or result, a call left out."""
    data = path.read_bytes()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def replace(node: ast.expr, new: str, is_static: bool) -> Edit:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        end = starts[node.end_lineno - 1] + node.end_col_offset
        return Edit(path, node.lineno, starts[node.lineno - 1] + node.col_offset, end, new, is_static)

    for node, is_static in _walk_code(ast.parse(data), True):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            yield replace(node, f"{left} {_OPPOSITE[type(node.ops[0])]} {right}", is_static)
        elif isinstance(node, ast.BoolOp):
            other = " or " if isinstance(node.op, ast.And) else " and "
            yield replace(node, other.join(f"({ast.unparse(value)})" for value in node.values), is_static)
        elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
            yield replace(node.test, f"not ({ast.unparse(node.test)})", is_static)
        elif isinstance(node, ast.Return) and node.value is not None and not _is_falsy(node.value):
            yield replace(node.value, "None", is_static)
        elif isinstance(node, ast.Constant) and _can_change(node.value):
            yield replace(node, repr(_change_constant(node.value)), is_static)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield replace(node.value, "None", is_static)


_NEVER_TRUE = ("TYPE_CHECKING", "__name__ == '__main__'")
"""Tests of blocks that do not run on import."""
_NOT_CODE = ("annotation", "returns", "decorator_list", "type_comment")


def _walk_code(node: ast.AST, is_static: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Yield the nodes that run, and whether they do when the module is imported.

    Docstrings, annotations, patterns, what is inside of f-strings or type-checking blocks, and tests of the platform
    are left out.
    """
    yield node, is_static
    is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if (
                name not in _NOT_CODE
                and isinstance(child, ast.AST)
                and not isinstance(child, (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.pattern))
                and not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant))
                and not (isinstance(child, ast.If) and ast.unparse(child.test) in _NEVER_TRUE)
                and not (isinstance(child, ast.Compare) and ast.unparse(child.left) == "sys.platform")
                and not (isinstance(child, ast.Subscript) and ast.unparse(child.value) == "Literal")
            ):
                yield from _walk_code(child, is_static and not (is_function and name == "body"))


def _is_falsy(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


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
    """Return ``count`` faults of a package, drawn at random among all that do not overlap; fewer if it has not so many."""
    paths = sorted((PACKAGES / package).rglob("*.py"))
    found = [edit for path in paths if "snippets" not in path.parts for edit in find_edits(path)]
    random.Random(f"{package} {seed}").shuffle(found)
    return _keep_disjoint(found, count)


def _keep_disjoint(edits: Iterable[Edit], count: int) -> list[Edit]:
    kept: list[Edit] = []
    for edit in edits:
        if len(kept) < count and not any(
            edit.path == other.path and edit.start < other.end and other.start < edit.end for other in kept
        ):
            kept.append(edit)
    return kept


SWITCH = '__import__("tests.mutations.switch", fromlist=["on"]).on'


def write_switches(folder: Path, edits: Mapping[str, Edit]) -> None:
    """Put all faults, by their keys, into the modules of a copy of the repository.

    In modules with a fault that is evaluated at import, everything else notes that the module is reached.
    """
    by_module: dict[str, list[tuple[str, Edit]]] = defaultdict(list)
    for key, edit in edits.items():
        by_module[edit.module].append((key, edit))
    for module, found in by_module.items():
        own = [edit for _, edit in found]
        others = sorted(find_edits(own[0].path), key=lambda edit: edit.start - edit.end)
        for edit in _keep_disjoint([*own, *(other for other in others if not other.is_static)], len(others)):
            if edit not in own:
                found.append((module, edit))
        target = folder / module
        data = target.read_bytes()
        for key, edit in sorted(found, key=lambda pair: -pair[1].start):
            old = data[edit.start : edit.end].decode()
            new = edit.new if key != module else "None"
            text = f"({new} if {SWITCH}({key!r}) else ({old}))"
            data = data[: edit.start] + text.encode() + data[edit.end :]
        target.write_bytes(data)


def copy_repository(folder: Path) -> None:
    """Copy what the tests need into ``folder``, where the package is found with its rules without being installed."""
    left_out = shutil.ignore_patterns("__pycache__")
    folder.mkdir()
    for path in ROOT.iterdir():
        if path.is_dir() and not path.name.startswith(".") and path.name != "site":
            shutil.copytree(path, folder / path.name, ignore=left_out, symlinks=True)
        elif path.is_file() and path.suffix:
            shutil.copy(path, folder)
    with contextlib.suppress(FileExistsError):
        (folder / "torchmigrate" / "rules").symlink_to("../rules", target_is_directory=True)


def _environ(folder: Path, **variables: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "", **variables}


@dataclass
class Reached:
    """What the tests reach of a copy: the tests by the key of the place, the keys that imports reach, and failures."""

    tests: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    imported: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)

    @classmethod
    def record(cls, folder: Path, tests: Iterable[str], jobs: int) -> Reached:
        """Run tests in a copy with all mutants off."""
        log = folder / "reached.log"
        log.touch()
        options = [
            "-q",
            f"-n{jobs}",
            "--no-header",
            "-p",
            "no:cacheprovider",
            "-p",
            "tests.mutations.selection",
        ]
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *dict.fromkeys(tests)],
            cwd=folder,
            env=_environ(folder, MUTANT_LOG=str(log)),
            stdout=sys.stderr,
            check=False,
        )
        if ended.returncode > 1:
            sys.exit("The tests cannot be run")
        found = cls()
        for line in log.read_text("utf-8").splitlines():
            key, how, test = line.split("\t", 2)
            name = test.rpartition(" (")[0] or test
            if how == "failed":
                found.failed.add(name)
            elif how == "import":
                found.imported.add(key)
            else:
                found.tests[key][name] = None
        return found

    def choose(self, key: str, edit: Edit, tests: Sequence[str]) -> list[str]:
        """Return the tests that judge a mutant, the package's own before the fixtures."""
        at_import = edit.is_static or key in self.imported
        found = dict.fromkeys([*self.tests[key], *(self.tests[edit.module] if at_import else ())])
        cases = {_parameter(name) for name in found if name.startswith(FIXTURES)}
        every = {name: None for names in self.tests.values() for name in names}
        # The tests of a case share its results, which only the first of them makes.
        found |= {name: None for name in every if name.startswith(FIXTURES) and _parameter(name) in cases}
        kept = [name for name in found if name not in self.failed and name.split("::")[0] in _files(tests)]
        if len(kept) > MOST:
            own = [name for name in kept if not name.startswith(FIXTURES)][: MOST // 2]
            kept = own + random.Random(key).sample(
                [name for name in kept if name not in own], MOST - len(own)
            )
        return sorted(kept, key=lambda name: name.startswith(FIXTURES))


def _files(tests: Sequence[str]) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for test in tests
        for path in ((ROOT / test).rglob("test_*.py") if (ROOT / test).is_dir() else [ROOT / test])
    }


def _parameter(test: str) -> str:
    return test.partition("[")[2]


def try_edits(edits: Mapping[str, tuple[str, Edit]], jobs: int) -> Iterator[tuple[str, bool, Sequence[str]]]:
    """Yield the key of each fault, whether a test notices and the tests that could, in the order of being decided."""
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "copy"
        copy_repository(folder)
        write_switches(folder, {key: edit for key, (_, edit) in edits.items()})
        packages = sorted({package for package, _ in edits.values()})
        reached = Reached.record(folder, (test for name in packages for test in TESTS[name]), jobs)
        pending: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        decided: queue.SimpleQueue[tuple[str, bool, Sequence[str]]] = queue.SimpleQueue()
        for key in (*edits, *(None for _ in range(jobs))):
            pending.put(key)

        def work() -> None:
            worker = subprocess.Popen(
                [sys.executable, "-m", "tests.mutations.worker"],
                cwd=folder,
                env=_environ(folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert worker.stdin is not None
            assert worker.stdout is not None
            with worker:
                while (key := pending.get()) is not None:
                    package, edit = edits[key]
                    names = reached.choose(key, edit, TESTS[package])
                    at_import = edit.is_static or key in reached.imported
                    passed = True
                    if names or at_import:
                        listed = folder / f"tests-{key}.txt"
                        failing = (f"!{name}" for name in reached.failed)
                        listed.write_text("\n".join([*names, *failing]), "utf-8")
                        files = list(dict.fromkeys(name.split("::")[0] for name in names)) or TESTS[package]
                        task = [key, str(listed) if names else None, files, at_import]
                        print(json.dumps(task), file=worker.stdin, flush=True)
                        passed = json.loads(worker.stdout.readline())
                    decided.put((key, not passed, names))

        threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for _ in edits:
            while decided.empty() and any(thread.is_alive() for thread in threads):
                time.sleep(0.1)
            yield decided.get_nowait()


def main() -> int:
    """Print the surviving mutants and the share that is caught; return 0 if it is 90 % in each package."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations.packages", description=__doc__)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="packages of torchmigrate (all)")
    parser.add_argument("--sample", type=int, default=10, metavar="N", help="mutants of each package (10)")
    parser.add_argument("--seed", type=int, default=0, help="draws others (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    options = parser.parse_args()
    packages = options.packages or sorted(TESTS)
    drawn = [(name, edit) for name in packages for edit in draw_edits(name, options.sample, options.seed)]
    edits = {str(n): pair for n, pair in enumerate(drawn) if not pair[1].is_equivalent()}
    counts = {name: [package for package, _ in edits.values()].count(name) for name in packages}
    caught = dict.fromkeys(packages, 0)
    for key, noticed, tests in try_edits(edits, options.jobs):
        package, edit = edits[key]
        caught[package] += noticed
        if not noticed:
            print(f"{edit.describe()}  ({len(tests)} tests)", flush=True)
    for name in packages:
        equivalent = sum(edit.is_equivalent() for package, edit in drawn if package == name)
        print(f"{name:12} {caught[name]:4} of {counts[name]} caught, {equivalent} more are equivalent")
    return int(any(caught[name] < 0.9 * counts[name] for name in packages))


if __name__ == "__main__":
    sys.exit(main())
