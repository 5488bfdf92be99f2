"""Project files that hold anything but what their name says: never a crash, never a hang, never half a rewrite."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.support import FIX, contents, plant, run

MANY = 2_000
TORCH = b"--index-url https://download.pytorch.org/whl/cu118\ntorch==2.1.0\n"

NAMES = {
    "requirements": "requirements.txt",
    "constraints": "constraints.txt",
    "docker": "Dockerfile",
    "compose": "docker-compose.yml",
    "workflow": ".github/workflows/ci.yml",
    "conda": "environment.yml",
    "toml": "pyproject.toml",
    "lock": "uv.lock",
    "ini": "setup.cfg",
    "shell": "install.sh",
    "make": "Makefile",
    "markdown": "README.md",
    "python": "setup.py",
}

SHAPES = {
    "no text": b"\xff\xfe\xfd torch==2.1.0+cu118\n",
    "nul": b"torch==2.1.0\0\n",
    "escapes": b"torch==\x1b[2J\x07\xe2\x80\xae2.1.0\n",
    "one line": b"torch " * MANY + b"\n",
    "no line end": TORCH.rstrip(),
    "only carriage returns": TORCH.replace(b"\n", b"\r"),
    "continued": b"RUN pip install torch==2.1.0 \\\n" * 20,
    "open quotes": b"RUN pip install \"torch==2.1.0 '\n" * 50,
    "open brackets": b"torch[" * MANY + b"\n",
    "anchors": b"a: &a [torch==2.1.0, *a]\n" + b"b: [" + b"*a, " * MANY + b"]\n",
    "flow": b"torch: " + b"[" * MANY + b"\n",
    "flow objects": b"torch: " + b"{a: " * MANY + b"\n",
    "indents": b"".join(b" " * (n % 300) + b"- torch==2.1.0:\n" for n in range(600)),
    "variables": b"".join(b"ARG V%d=${V%d}\n" % (n, n + 1) for n in range(2_000))
    + b"RUN pip install torch==${V0}\n",
    "doubling variables": b"".join(b"A%d=$A%d$A%d\n" % (n, n + 1, n + 1) for n in range(40))
    + b"pip install torch==$A0\n",
    "doubling ARGs": b"FROM x\n"
    + b"".join(b"ARG A%d=${A%d}${A%d}\n" % (n, n + 1, n + 1) for n in range(40))
    + b"RUN pip install torch==${A0}\n",
    "heredocs": b"RUN <<EOF\npip install torch==2.1.0\n" * 50,
    "includes": b"-r requirements.txt\n-c requirements.txt\ntorch==2.1.0\n" * 20,
    "versions": b"torch==" + b"9" * 5_000 + b"." + b"9" * 5_000 + b"\ntorch>=2.!,<\n",
    "markers": b"torch==2.1.0; " + b"(" * MANY + b"python_version" + b")" * MANY + b"\n",
    "urls": b"--index-url https://download.pytorch.org/whl/" + b"cu118/" * MANY + b"\ntorch==2.1.0\n",
    "toml lists": b"[project]\ndependencies = " + b"[" * 100_000 + b"'torch'\n",
    "toml types": b"[project]\ndependencies = {torch = 1}\nname = 1\n[tool]\nuv = 1\npoetry = []\npixi = 'torch'\n",
    "uv types": b"[tool.uv]\nindex = 1\nsources = {torch = 1}\n[project]\ndependencies = ['torch==2.1.0']\n",
    "lock types": b"package = 1\n[[x]]\nname = 'torch'\n",
    "conda types": b"dependencies: torch\nchannels: {a: [pytorch]}\nname: [1\n",
    "fences": b"```\npip install torch==2.1.0+cu118\n" * 50,
    "templates": b"{% if torch %}\ntorch==2.1.0\n{{ torch }}\n",
    "parentheses": b"setup(install_requires=" + b"(" * 5_000 + b"'torch==2.1.0'\n",
}


@pytest.mark.parametrize("kind", NAMES)
def test_a_hostile_file_is_reported_or_left_alone(tmp_path: Path, kind: str) -> None:
    files = {f"{number}/{NAMES[kind]}": data for number, data in enumerate(SHAPES.values())}
    plant(tmp_path, {**files, "z/requirements.txt": TORCH})
    flags = ("--target-version", "2.12", "--select", "CU")
    done = run(*FIX, *flags, "--output-format", "json", ".", folder=tmp_path)
    assert done.status in (1, 2), done.text[-500:]
    assert all(5 < len(message) < 300 for message in done.errors.values())
    assert not [message for message in done.errors.values() if "a fault in torchmigrate" in message]
    found = any(finding["path"] == "z/requirements.txt" for finding in done.document["findings"])
    assert found or (tmp_path / "z" / "requirements.txt").read_bytes() != TORCH
    broken = {path: (tmp_path / path).read_bytes() for path in done.errors}
    assert broken == {path: files[path] for path in broken}
    again = contents(tmp_path)
    run(*FIX, *flags, ".", folder=tmp_path)
    assert contents(tmp_path) == again
