"""Notebooks that are none: one error each with its path, nothing is written, and all others are fixed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support import FIX, contents, plant, run

CODE = "import torch\nx = torch.jit.annotate(int, 1)"
FIXED = "x: int = 1"


def notebook(source: Any = CODE, **more: Any) -> bytes:
    cell = {"cell_type": "code", "source": source, **more}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


TOKEN = b'"torch.jit.annotate(int, 1)"'
BROKEN = {
    "empty line": b"\ntorch.jit.annotate\n",
    "no json": b"import torch\ntorch.jit.annotate(int, 1)\n",
    "cut off": notebook()[:-30],
    "more after it": notebook() + b"{}",
    "no utf-8": notebook().replace(b"import", b"\xff"),
    "utf-16": notebook().decode().encode("utf-16") + b"torch.jit.annotate",
    "nul": notebook().replace(b"import", b"\0"),
    "a raw line end": notebook().replace(b"\\n", b"\n"),
    "deep": b'{"cells": ' + b"[" * 100_000 + TOKEN + b"]" * 100_000 + b"}",
    "deep beside": notebook()[:-1] + b', "x": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
    "deep open": b'{"x":' * 100_000 + TOKEN,
    "a list": b"[" + TOKEN + b"]",
    "a number": b"1 " + TOKEN,
    "cells are null": b'{"cells": null, "x": ' + TOKEN + b"}",
    "cells are text": b'{"cells": ' + TOKEN + b"}",
    "cells are an object": b'{"cells": {"source": ' + TOKEN + b"}}",
    "a cell is text": b'{"cells": [' + TOKEN + b"]}",
    "a cell is a list": b'{"cells": [[' + TOKEN + b"]]}",
    "a source is a number": notebook(1, id="torch.jit.annotate(int, 1)"),
    "a source is an object": notebook({"a": CODE}),
    "a source holds numbers": notebook([CODE, 1]),
    "a source holds lists": notebook([[CODE]]),
    "a source is null": notebook([None, CODE]),
    "a lone surrogate": notebook().replace(b"import", b"\\ud800"),
    "a wrong escape": notebook().replace(b"import", b"\\x41"),
    "half an escape": notebook().replace(b"import", b"\\u12"),
    "surrogates the wrong way": notebook().replace(b"import", b"\\udc00\\ud800"),
    "a comma too many": notebook().replace(b"]", b",]", 1),
    "single quotes": notebook().replace(b'"', b"'"),
    "no python": notebook("import torch\nx = torch.jit.annotate(int, 1"),
    "a huge number": notebook().replace(b'"nbformat": 4', b'"nbformat": ' + b"9" * 10_000),
}
FINE = {
    "nan": notebook().replace(b'"nbformat": 4', b'"nbformat": NaN'),
    "infinity": notebook().replace(b'"nbformat": 4', b'"nbformat": -Infinity'),
    "huge output": notebook(outputs=[{"data": {"image/png": "x" * 5_000_000}}]),
    "keys twice": notebook().replace(b'"cell_type"', b'"source": "no", "cell_type"', 1),
    "metadata is a list": notebook(metadata=[1]),
    "languages of wrong types": notebook(metadata={"vscode": [1]}, id=1),
    "a pair of surrogates": notebook(CODE + "\ny = '\U0001f600'"),
    "lines": notebook([line + "\n" for line in CODE.split("\n")]),
    "empty strings": notebook(["", *CODE.splitlines(keepends=True), ""]),
    "carriage returns": notebook(CODE.replace("\n", "\r\n")),
    "a null character's escape elsewhere": notebook(outputs="\0"),
    "many cells": json.dumps(
        {"cells": [{"cell_type": "code", "source": CODE}] + [{"cell_type": "code", "source": "y"}] * 5_000}
    ).encode(),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All notebooks, fixed by one run, whose JSON report lies beside the folder."""
    folder = tmp_path_factory.mktemp("notebooks")
    plant(folder / "tree", {f"{name}.ipynb": data for name, data in {**BROKEN, **FINE}.items()})
    done = run(*FIX, "--output-format", "json", ".", folder=folder / "tree")
    assert done.status == 2, done
    (folder / "report.json").write_bytes(done.out)
    return folder


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_notebook_is_one_error(folder: Path, name: str) -> None:
    errors = json.loads((folder / "report.json").read_bytes())["errors"]
    (error,) = [error for error in errors if error["path"] == f"{name}.ipynb"]
    assert 5 < len(error["message"]) < 200
    assert "torchmigrate" not in error["message"]
    assert contents(folder / "tree")[f"{name}.ipynb"] == BROKEN[name]


@pytest.mark.parametrize("name", FINE)
def test_an_odd_notebook_is_fixed(folder: Path, name: str) -> None:
    errors = json.loads((folder / "report.json").read_bytes())["errors"]
    assert [error for error in errors if error["path"] == f"{name}.ipynb"] == []
    data = contents(folder / "tree")[f"{name}.ipynb"]
    source = json.loads(data)["cells"][0]["source"]
    assert FIXED in "".join(source)
    assert len(data) > len(FINE[name]) - 100
