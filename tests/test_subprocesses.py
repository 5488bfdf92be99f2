"""The modules that start other programs: a short list, which whoever reads for safety can read from top to bottom."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import rules
import torchmigrate
from torchmigrate.documents import resolver_process
from torchmigrate.project.program_search import find_program

STARTERS = {
    "torchmigrate/documents/resolver_process.py",
    "torchmigrate/probe/processes.py",
    "torchmigrate/probe/smoke_run.py",
    "torchmigrate/project/git.py",
    "torchmigrate/record/recorded_run.py",
    "torchmigrate/trials/judging_command.py",
}
"""The modules that may import `subprocess`: git, uv or pip, the user's interpreter, and the commands of ``--verify`` and `record`."""

CALLS = {
    "torchmigrate/documents/resolver_process.py": [
        "run(cwd=folder)"
    ],  # an empty folder: uv and pip read the settings of the one that they are started in
    "torchmigrate/probe/processes.py": [
        "Popen(cwd=cwd, env=dict(environ))"
    ],  # an empty folder for each snippet: ``python -c`` imports from the one that it is started in
    "torchmigrate/project/git.py": [
        "run(cwd=self._folder, env={**_clean_environment(), 'GIT_ALLOW_PROTOCOL': self._transport})"
    ],  # see tests/test_git.py
    "torchmigrate/record/recorded_run.py": ["Popen(env=environment)"],  # the user's own command
    "torchmigrate/trials/judging_command.py": [
        "Popen(shell=True, cwd=copy / self.folder.relative_to(self.root), env=self._build_environment(copy, log))"
    ],  # the user's own command, in a copy
}
"""Each start of a program, with what decides where it runs and with which settings."""

EVALUATORS = {
    "rules/removed_api/_changes/recipe_arguments.py": [
        "eval"
    ],  # parameters written in the ledger's own table
    "torchmigrate/__init__.py": ["__import__"],  # a module of torchmigrate
    "torchmigrate/proof/edit_verification.py": ["compile"],  # without running what comes of it
}

MODULES = {"subprocess", "pty", "asyncio.subprocess", "_posixsubprocess"}
FUNCTIONS = {
    "os": {"system", "popen", "execv", "execve", "execvp", "execl", "execlp", "posix_spawn", "spawnv", "spawnl", "fork", "startfile"},
    "builtins": {"exec", "eval", "compile", "__import__"},
}  # fmt: skip


@cache
def list_sources() -> list[tuple[str, ast.Module]]:
    """Return the path below the repository, and the tree, of each module that runs in the tool's own process."""
    found = []
    for package in (torchmigrate, rules):
        assert package.__file__ is not None
        folder = Path(package.__file__).parent
        for path in sorted(folder.rglob("*.py")):
            # These run in the user's interpreter, which the modules above start.
            if not {"snippets", "programs", "hook"} & set(path.relative_to(folder).parts):
                name = path.relative_to(folder.parent).as_posix()
                found.append((name, ast.parse(path.read_text("utf-8"))))
    return found


def list_starts(tree: ast.Module) -> list[str]:
    """Return what a module uses to start programs, or to run text as Python."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name in MODULES]
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            found.append(node.module or "")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = node.value.id
            found += [f"{owner}.{node.attr}"] * (node.attr in FUNCTIONS.get(owner, ()))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found += [node.func.id] * (node.func.id in FUNCTIONS["builtins"])
    return found


def test_only_listed_modules_start_programs() -> None:
    found = {name: starts for name, tree in list_sources() if (starts := list_starts(tree))}
    assert set(found) == STARTERS | set(EVALUATORS)  # and none is listed in vain
    assert {name: found[name] for name in EVALUATORS} == EVALUATORS


def test_what_starts_a_program_is_recognized() -> None:
    code = "import subprocess\nfrom subprocess import run\nos.system('x')\nexec('y')\nre.compile('z')\n"
    assert sorted(list_starts(ast.parse(code))) == ["exec", "os.system", "subprocess", "subprocess"]


def test_each_program_is_started_in_a_known_way() -> None:
    found: dict[str, list[str]] = {}
    for name, tree in list_sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("subprocess."):
                given = [
                    ast.unparse(one) for one in node.keywords if one.arg in (None, "cwd", "env", "shell")
                ]
                function = ast.unparse(node.func).removeprefix("subprocess.")
                found.setdefault(name, []).append(f"{function}({', '.join(given)})")
    assert found == CALLS


@pytest.mark.parametrize("entry", [".", "", "bin", "./bin", "../project/bin"])
def test_no_program_is_found_through_a_relative_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    folder = tmp_path / "project"
    for name in ("git", "uv", "pip", "pip3", "python3", "nvidia-smi"):
        for path in (folder / name, folder / "bin" / name):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("#!/bin/sh\ntouch ran\n")
            path.chmod(0o755)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", entry)
    assert find_program("git") is None
    assert resolver_process.find_resolver() is None
    monkeypatch.setenv("PATH", f"{entry}:{folder / 'bin'}")
    assert find_program("git") == str(folder / "bin" / "git")


def test_programs_are_searched_for_in_one_place() -> None:
    found = {
        name
        for name, tree in list_sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "shutil.which"
    }
    # The commands only ask whether the interpreter that the user named is there.
    own = {"torchmigrate/cli/artifacts.py", "torchmigrate/cli/probe_call.py"}
    assert found == {"torchmigrate/project/program_search.py"} | own
