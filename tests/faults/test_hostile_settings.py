"""Settings that are no settings: one line with the path and what is wrong, status 2, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.support import NEW, OLD, contents, plant, run
from torchmigrate.settings import config
from torchmigrate.settings.settings import setting_fields, toml_key
from torchmigrate.text.toml_reader import parse_toml

DEEP = 100_000
WRONG = [
    "1",
    "-1",
    "1.5",
    "true",
    '""',
    '"\\u0000"',
    "[[]]",
    "[1]",
    "{}",
    "{a = {}}",
    "1979-05-27",
    "nan",
    '"' + "x" * 100_000 + '"',
]
"""Values of every type of TOML, of which at most a few are right for any key."""

BROKEN = {
    "no text": b"[tool.torchmigrate]\nselect = ['\xff']\n",
    "nul": b"[tool.torchmigrate]\n\0",
    "cut off": b"[tool.torchmigrate",
    "nested lists": b"[tool.torchmigrate]\nselect = " + b"[" * DEEP,
    "closed nested lists": b"[tool.torchmigrate]\nselect = " + b"[" * DEEP + b"]" * DEEP,
    "nested tables": b"[tool.torchmigrate]\nx = " + b"{a=" * DEEP + b"1" + b"}" * DEEP,
    "a long key": b"[tool.torchmigrate]\n" + b"a." * DEEP + b"b = 1\n",
    "a deep header": b"[tool.torchmigrate." + b"a." * DEEP + b"b]\n",
    "huge": b"[tool.torchmigrate]\n" + b"#" * config.MAX_CONFIG_BYTES,
    "a huge number": b"[tool.torchmigrate]\njobs = " + b"9" * 10_000 + b"\n",
    "a list": b"[[tool.torchmigrate]]\n",
    "a text": b"tool.torchmigrate = 'x'\n",
    "two tables": b"[tool.torchmigrate]\n[tool.torchmigrate]\n",
    "a pattern without end": b"[tool.torchmigrate]\nexclude = ['[']\nselect = ['nothing']\n",
    "its own extension": b"[tool.torchmigrate]\nextend = 'pyproject.toml'\n",
    "a folder to extend": b"[tool.torchmigrate]\nextend = '.'\n",
    "a device to extend": b"[tool.torchmigrate]\nextend = '/dev/zero'\n",
    "a path with a nul": b'[tool.torchmigrate]\nextend = "\\u0000"\n',
    "a surrogate": b'[tool.torchmigrate]\nextend = "\\ud800"\n',
}


def refused(folder: Path, name: str, data: bytes) -> str:
    """The message about the settings in the file ``name``."""
    plant(folder, {name: data, "a.py": OLD})
    before = contents(folder)
    done = run("fix", "--apply", "--unsafe", "--quiet", ".", folder=folder)
    assert (done.status, done.out) == (2, b"")
    assert contents(folder) == before
    (line,) = done.err.decode().splitlines()
    assert len(line) < 1_000
    return line


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_pyproject(tmp_path: Path, name: str) -> None:
    message = refused(tmp_path, "pyproject.toml", BROKEN[name])
    assert message.startswith(
        (f"Error: {tmp_path}", "Error: /dev/zero: not a regular file", "Error: no rule matches")
    )


@pytest.mark.parametrize("key", [*(toml_key(one.name) for one in setting_fields()), "unknown"])
def test_wrong_types(key: str) -> None:
    refusals = [message for value in WRONG if (message := refusal(f"{key} = {value}\n"))]
    assert len(refusals) >= len(WRONG) - 3
    assert all(message.startswith("here: ") and len(message) < 1_000 for message in refusals)


def refusal(text: str) -> str:
    """What is said of a table of settings; "" if they can be used."""
    try:
        config.parse_table(parse_toml(text), "here")
    except config.ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "project",
    [
        "name = 1",
        "dependencies = 1",
        "dependencies = [[]]",
        "dependencies = {torch = 1}",
        "dependencies = ['torch>=999999999999999999999999']",
        "dependencies = ['torch>=2.3; \"']",
        "dependencies = ['torch" + "[" * 10_000 + "']",
        "optional-dependencies = []",
        "optional-dependencies = {a = 1}",
        "dynamic = 1",
        "requires-python = []",
        "dependencies = ['torch>=2.3\\u0000', \"torch>=2.\\u0663\"]",
    ],
)
def test_metadata_of_wrong_types_are_passed_over(tmp_path: Path, project: str) -> None:
    plant(tmp_path, {"pyproject.toml": f"[project]\n{project}\n".encode(), "a.py": OLD})
    done = run("fix", "--apply", "--unsafe", "--output-format", "json", ".", folder=tmp_path)
    assert done.errors.keys() <= {"pyproject.toml"}
    assert b"fault" not in done.err
    assert (tmp_path / "a.py").read_bytes() == NEW
