"""Nothing of the project that is checked is imported or executed, wherever the program is started."""

from __future__ import annotations

import http.server
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.support import LIMIT, many, plant

MARK = b"open(__import__('os').environ['MARK'], 'a').write(__file__ + '\\n')\n"
CODE = b"def f():\n    import torch\n\n    x = torch.jit.annotate(int, 1)\n"
SHADOWING = (
    "ast",
    "click",
    "concurrent",
    "dataclasses",
    "difflib",
    "hashlib",
    "importlib_metadata",
    "json",
    "libcst",
    "logging",
    "multiprocessing",
    "packaging",
    "pathlib",
    "pickle",
    "queue",
    "random",
    "rich",
    "signal",
    "sitecustomize",
    "socket",
    "struct",
    "subprocess",
    "tempfile",
    "threading",
    "tokenize",
    "tomllib",
    "torch",
    "tree_sitter",
    "typing",
    "unicodedata",
    "usercustomize",
)
"""Modules that the program or Python under it imports, and that a project may well have a file for."""

SCRIPT = [str(Path(sys.executable).with_name("torchmigrate"))]
MODULE = [sys.executable, "-m", "torchmigrate"]
PYPROJECT = b"""\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "evil"
dynamic = ["version", "dependencies"]

[project.entry-points."torchmigrate.rules"]
evil = "evil_rules"

[tool.setuptools.dynamic]
version = {attr = "evil.VERSION"}

[tool.pytest.ini_options]
addopts = "-p evil_plugin"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that leaves a mark whenever a part of it is executed."""
    modules = ["setup", "conftest", "backend", "noxfile", "evil_rules", "evil_plugin", "evil/__init__"]
    modules += [f"evil/{name}" for name in ("a", "__main__")]
    files = {f"{name}.py": MARK + CODE for name in modules}
    files |= {f"{name}.py": MARK + CODE for name in SHADOWING[::2]}
    files |= {f"{name}/__init__.py": MARK + CODE for name in SHADOWING[1::2]}
    files |= {"pyproject.toml": PYPROJECT, "requirements.txt": b"torch>=2.0\n-e .\n"}
    files["evil-1.0.dist-info/entry_points.txt"] = b"[torchmigrate.rules]\nevil = evil_rules\n"
    files["evil-1.0.dist-info/METADATA"] = b"Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n"
    files["evil.pth"] = b"import evil\n"
    files[".venv/bin/python"] = b"#!/bin/sh\necho .venv >> $MARK\n"
    folder = plant(tmp_path / "project", files)
    (folder / ".venv" / "bin" / "python").chmod(0o755)
    for name in ("python", "python3"):
        (folder / name).symlink_to(".venv/bin/python")
    return folder


def executed(command: list[str], folder: Path, **environ: str) -> tuple[str, str]:
    """What of the project was executed by a command, and what the command said."""
    mark = folder.parent / "mark"
    mark.write_text("")
    environment = {**os.environ, "MARK": str(mark), "PATH": f".::{os.environ['PATH']}", **environ}
    environment.pop("VIRTUAL_ENV", None)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode in (0, 1), done.stderr
    return mark.read_text(), done.stdout


@pytest.mark.parametrize("program", [SCRIPT, MODULE], ids=["script", "module"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--statistics", "--verbose"],
        ["fix", "--unsafe", "--apply", "--jobs", "2"],
        ["check", "--with-probe", "--output-format", "sarif"],
        ["rules"],
    ],
    ids=" ".join,
)
def test_nothing_of_the_project_is_executed(project: Path, program: list[str], arguments: list[str]) -> None:
    paths = ["."] if arguments[0] in ("check", "fix") else []
    marks, out = executed([*program, *arguments, *paths], project)
    assert marks == ""
    assert out


def test_a_mark_is_left_by_what_is_executed(project: Path) -> None:
    marks, _ = executed([sys.executable, "-c", "import evil, torch"], project)
    assert marks.split() == [str(project / "evil" / "__init__.py"), str(project / "torch.py")]


SPAWNING = """\
import sys
from torchmigrate.cli import commands
from torchmigrate.run import parallel, workers
parallel.WORTHWHILE = 10
workers.choose_start_method = lambda: "{method}"
if __name__ == "__main__":
    sys.argv = ["torchmigrate", "check", "--jobs", "2", "--statistics", "--show", "info", "--quiet", "."]
    commands.main()
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_worker_processes_execute_nothing_of_the_project(project: Path, tmp_path: Path, method: str) -> None:
    program = plant(tmp_path / "elsewhere", {"main.py": SPAWNING.format(method=method).encode()})
    plant(project, many(40))
    marks, out = executed([sys.executable, str(program / "main.py")], project)
    assert marks == ""
    assert "TS154" in out


@pytest.fixture
def index() -> Iterator[tuple[str, list[str]]]:
    """The address of a package index that has nothing, and what it was asked for."""
    asked: list[str] = []

    class Index(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()


@pytest.mark.parametrize("resolver", ["uv", "pip"])
def test_a_resolver_obeys_no_settings_of_the_project(
    project: Path, tmp_path: Path, index: tuple[str, list[str]], resolver: str
) -> None:
    program = Path(sys.executable).with_name(resolver)
    if not program.exists():
        pytest.skip(f"there is no {resolver}")
    address, asked = index
    evil = f"{address}/evil"
    with (project / "pyproject.toml").open("a") as file:
        file.write(f'\n[[tool.uv.index]]\nname = "evil"\nurl = "{evil}"\n')
    (project / "uv.toml").write_text(f'extra-index-url = ["{evil}"]\n')
    for name in ("pip.conf", "pip.ini", ".pip/pip.conf", ".config/pip/pip.conf"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(f"[global]\nextra-index-url = {evil}\n")
    (project / ".netrc").write_text("machine 127.0.0.1 login evil password evil\n")
    (project / "requirements.txt").write_text("torch==2.4.0\neinops==0.8.0\n")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / resolver).symlink_to(program)
    (tools / "python3").symlink_to(sys.executable)  # uv asks for one
    command = [*MODULE, "fix", "--unsafe", "--resolve", "--no-cache", "--exit-zero", "."]
    settings = {"UV_DEFAULT_INDEX": f"{address}/mine", "PIP_INDEX_URL": f"{address}/mine"}
    home = {"HOME": str(tmp_path), "UV_CACHE_DIR": str(tmp_path / "cache")}
    marks, _ = executed(command, project, PATH=f"{tools}", **settings, **home)
    assert marks == ""
    assert any(path.startswith("/mine/") for path in asked), asked
    assert not [path for path in asked if "evil" in path]
