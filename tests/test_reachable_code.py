"""What code of a project may reach, by names."""

from __future__ import annotations

import ast

import pytest

from torchmigrate.project.indexed_file import DEFINITIONS
from torchmigrate.project.project_facts import Project
from torchmigrate.project.reachable_code import find_visible_code

TRAIN = """
from models import Net, activate
from envs import Env

def main():
    penalty(Net(activate), Env())

def penalty(net, env):
    return net(1)
"""
MODELS = """
import helpers as h

class Net:
    def __init__(self, act):
        self.act = act

    def forward(self, x):
        return self.act(h.scale(x))

    def unused(self):
        return never()

def activate(x):
    return x

def never():
    pass
"""
FILES = {
    "/p/train.py": TRAIN,
    "/p/models.py": MODELS,
    "/p/helpers.py": "def scale(x):\n    return TABLE['a'](x)\n\ndef double(x):\n    pass\n\nTABLE = {'a': double}\n",
    "/p/envs.py": "class Env:\n    def step(self):\n        reward()\n\ndef reward():\n    pass\n",
    "/p/apart.py": "def apart(x):\n    pass\n",
}


@pytest.mark.parametrize(
    ("path", "name", "is_reached"),
    [
        ("/p/models.py", "Net", True),
        ("/p/models.py", "activate", True),
        ("/p/models.py", "never", False),
        ("/p/helpers.py", "scale", True),
        ("/p/helpers.py", "double", True),
        ("/p/envs.py", "reward", False),
        ("/p/apart.py", "apart", False),
    ],
)
def test_what_a_call_of_a_parameter_reaches(path: str, name: str, is_reached: bool) -> None:
    project = Project(FILES, lambda one: FILES[one].encode())
    code = find_visible_code(project, "/p/train.py")
    assert code is not None
    file = code.files["/p/train.py"]
    (call,) = file.calls["net"]
    reached = code.collect_reached_code([(call, file)])
    definitions = [node for node in ast.walk(ast.parse(FILES[path])) if isinstance(node, DEFINITIONS)]
    (definition,) = [node for node in definitions if node.name == name]
    assert reached.includes(path, definition) is is_reached


def test_a_file_that_cannot_be_parsed_makes_everything_reachable() -> None:
    files = {**FILES, "/p/envs.py": "class Env(\n"}
    project = Project(files, lambda one: files[one].encode())
    assert find_visible_code(project, "/p/train.py") is None
