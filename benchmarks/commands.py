"""The measured commands: ways to run torchmigrate, and similar tools. Their titles appear in the tables and in the record."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ONE = "all families, 1 process"
TWO = "all families, 2 processes"
SOME = "TS and SC, 1 process"
WARM = "all, 1 process, warm cache"

RUFF = "ruff, all rules"
PARSE = "ast.parse"
READ = "reading"
TORCHFIX = "TorchFix"

COLD_FILE = "one clean file"
WARM_FILE = "one clean file, warm cache"
CLICK = "import click"

RUFF_VERSION = "0.17.5"
TORCHFIX_VERSION = "0.7.0"

CHECK = [sys.executable, "-m", "torchmigrate", "check", "--isolated", "--output-format", "concise"]
READING = """
import ast, contextlib, os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as stream:
            data = stream.read()
"""
PARSING = f"""{READING}
        if name.endswith((".py", ".pyi")):
            with contextlib.suppress(SyntaxError, ValueError):
                ast.parse(data)
"""


def of_tree(folder: Path, ruff: Path, cache: Path) -> dict[str, list[str]]:
    """Return the commands that check a tree, with commands to compare side by side; ``cache`` is for the results of warm runs."""
    sources = str(folder)
    selection = ["check", "--isolated", "--no-cache", "--select", "ALL", "--output-format", "concise"]
    return {
        TWO: [*CHECK, "--no-cache", "--jobs", "2", sources],
        RUFF: [str(ruff), *selection, sources],
        WARM: [*CHECK, "--cache-dir", str(cache), "--jobs", "1", sources],
        ONE: [*CHECK, "--no-cache", "--jobs", "1", sources],
        PARSE: [sys.executable, "-c", PARSING, sources],
        SOME: [*CHECK, "--no-cache", "--jobs", "1", "--select", "TS,SC", sources],
        READ: [sys.executable, "-c", READING, sources],
    }


def of_start(folder: Path, cache: Path) -> dict[str, list[str]]:
    """Return the commands that show the startup time; write a small file without findings into ``folder``."""
    folder.mkdir()
    clean = folder / "clean.py"
    clean.write_text("import torch\n\nprint(torch.ones(2))\n", encoding="utf-8")
    return {
        COLD_FILE: [*CHECK, "--no-cache", str(clean)],
        CLICK: [sys.executable, "-c", "import click"],
        WARM_FILE: [*CHECK, "--cache-dir", str(cache), str(clean)],
    }


def torchfix(command: Path, folder: Path) -> list[str]:
    """Return the command that runs TorchFix with all its rules, in one process."""
    return [str(command), "--select", "ALL", "-j", "1", str(folder)]


def installed(requirement: str, folder: Path) -> Path:
    """Create an environment with one package, and return the folder of its commands."""
    environment: Sequence[str] = [sys.executable, "-m", "venv", str(folder)]
    subprocess.run(environment, check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, requirement], check=True)
    return folder / "bin"
