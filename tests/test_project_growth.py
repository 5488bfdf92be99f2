"""Twice as much of anything in a project takes about twice the work."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from tests.counted_work import measure_growth

MOST = {"commands": 3.0}
"""How much more the work may be; 2.3 elsewhere. Each command moves by itself, and is compared with all others."""
SIZES = {
    "commands": 60,
    "lists beside what holds them back": 60,
    "programs of the same names": 60,
    "builds beside sources": 60,
    "names of names": 100,
    "calls of one result": 100,
}
"""How many there are of some; 20 of others."""
USE = "torch.jit.annotate(int, 1)"
PROJECT = '[project]\nname = "p"\nversion = "1"\ndependencies = ["torch>=2.12"]\n'

Project = Callable[[int], Mapping[str, str]]


def repeat(text: str, number: int) -> str:
    """A text many times, in which ``<i>`` is its number, and ``<j>`` the next one."""
    return "".join(text.replace("<i>", str(i)).replace("<j>", str(i + 1)) for i in range(number))


def repeat_file(name: str, text: str, last: str = "") -> Project:
    """Many files, and one that ends a chain of them."""
    return lambda number: {
        **{repeat_once(name, i): repeat_once(text, i) for i in range(number)},
        repeat_once(name, number): last or repeat_once(text, number),
    }


def repeat_once(text: str, number: int) -> str:
    return text.replace("<i>", str(number)).replace("<j>", str(number + 1))


def notebook(number: int) -> Mapping[str, str]:
    """A notebook of many cells, each with two findings."""
    cell: dict[str, object] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [
        {**cell, "id": f"c{i}", "source": ["import torch\n", f"x{i} = {USE}\n", f"y{i} = {USE}"]}
        for i in range(number)
    ]
    form = {"metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    return {"/p/a.ipynb": json.dumps({"cells": cells, **form}, indent=1)}


PROJECTS: Mapping[str, Project] = {
    "lists beside what holds them back": lambda number: {
        **{f"/p/{i}/requirements.txt": f"torch==2.4.0\nnumpy\n# {i}\n" for i in range(number)},
        "/p/run.sbatch": "module load cuda/11.8\n",
    },
    "commands": lambda number: {
        "/p/install.sh": "pip install torch==2.4.0 numpy --index-url https://download.pytorch.org/whl/cu121\n"
        * number
    },
    "pins in one file": lambda number: {"/p/requirements.txt": "torch==2.1.0\n" * number},
    "lists that include each other": repeat_file(
        "/p/r<i>.txt", "-r r<j>.txt\ntorch==2.1.0\n", "torch==2.1.0\n"
    ),
    "groups that include each other": lambda number: {
        "/p/pyproject.toml": PROJECT
        + "[dependency-groups]\n"
        + repeat('g<i> = [{include-group = "g<j>"}, "torch==2.1.0"]\n', number)
        + f'g{number} = ["torch==2.1.0"]\n'
    },
    "stages of an image": lambda number: {
        "/p/Dockerfile": repeat(
            "FROM pytorch/pytorch:2.1.0-cuda11.8-cudnn8-devel AS s<i>\n"
            "RUN pip install torch==2.1.0 torchvision==0.16.0\n",
            number,
        )
    },
    "modules that import from each other": repeat_file(
        "/p/m<i>.py",
        "from m<j> import f as g, j\nfrom torch.jit import script\n\n@script\ndef f(x):\n    return g(x)\n",
        "import torch\nj = torch.jit\ndef f(x):\n    return x\n",
    ),
    "programs of the same names": lambda number: {
        path: text
        for i in range(number)
        for path, text in {
            f"/p/{i}/tools.py": "import torch\n\n@torch.jit.script\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return x\n",
            f"/p/{i}/main.py": "import torch\nfrom tools import f\nprint(f(torch.ones(2)))\n",
        }.items()
    },
    "builds beside sources": lambda number: {
        path: text
        for i in range(number)
        for path, text in {
            f"/p/{i}/CMakeLists.txt": "find_package(Torch REQUIRED)\n",
            f"/p/{i}/a.cpp": '#include <torch/script.h>\nauto m = torch::jit::load("a.pt");\n',
        }.items()
    },
    "files that are saved and loaded": repeat_file(
        "/p/m<i>.py",
        "import torch\nm = torch.jit.trace(torch.nn.Linear(4, 2), torch.randn(2, 4))\nm.save('m<i>.pt')\n"
        "n = torch.jit.load('m<i>.pt')\nn(torch.randn(3, 4))\n",
    ),
    "cells of a notebook": notebook,
    "lines of CMake": lambda number: {
        "/p/CMakeLists.txt": repeat(
            "find_package(Torch REQUIRED)\ntarget_link_libraries(a<i> ${TORCH_LIBRARIES})\n", number
        )
    },
    "lines of C++": lambda number: {
        "/p/a.cpp": "#include <torch/script.h>\n"
        + repeat('auto m<i> = torch::jit::load("a<i>.pt"); m<i>.eval();\n', number)
    },
    "lines of Java": lambda number: {
        "/p/A.java": "import org.pytorch.Module;\nclass A { void f() {\n"
        + repeat('Module m<i> = Module.load("a<i>.pt");\n', number)
        + "}}\n"
    },
    "names of names": lambda number: {
        "/p/a.py": "import torch\na0 = torch.jit.script\n"
        + repeat("a<j> = a<i>\n", number)
        + f"@a{number}\ndef f(x: torch.Tensor) -> torch.Tensor:\n    return x\n"
    },
    "calls of one result": lambda number: {
        "/p/a.py": "import torch\nx = torch.jit.load('a.pt')" + ".eval()" * number + "\n"
    },
    "comments that suppress": lambda number: {
        "/p/a.py": "import torch\n" + repeat(f"x<i> = {USE}  # torchmigrate: ignore TS154\n", number)
    },
}


@pytest.mark.parametrize("fix", [False, True], ids=["check", "fix"])
@pytest.mark.parametrize("name", PROJECTS)
def test_work_grows_with_the_project(name: str, fix: bool) -> None:
    def make(number: int) -> Mapping[str, bytes]:
        return {path: text.encode() for path, text in PROJECTS[name](number).items()}

    flags = ["--unsafe", "--target-version", "2.15"]
    growth = measure_growth(make, SIZES.get(name, 20), fix=fix, flags=flags)
    assert 1.5 < growth < MOST.get(name, 2.3)
