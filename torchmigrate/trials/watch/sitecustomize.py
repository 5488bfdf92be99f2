"""A record of the folders of the original project that a Python process imports from, instead of its copy.

`site` imports this module at the start of every process that has its folder on PYTHONPATH. Runs on Python 3.6 too.
"""

import atexit
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec


def note() -> None:
    """Write the import folders that lie in the original project, one a line."""
    original, log = os.environ["TORCHMIGRATE_ORIGINAL"] + os.sep, os.environ["TORCHMIGRATE_WATCH"]
    folders = set()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or name == "__main__" or not os.path.realpath(file).startswith(original):
            continue
        folder = os.path.dirname(os.path.realpath(file))
        if os.path.basename(file).startswith("__init__."):
            folder = os.path.dirname(folder)
        for _ in range(name.count(".")):
            folder = os.path.dirname(folder)
        if not os.path.realpath(folder).startswith(
            (os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix))
        ):
            folders.add(folder)
    if folders:
        with open(log, "a", encoding="utf-8", errors="surrogateescape") as out:
            out.write("".join(folder + "\n" for folder in sorted(folders)))


atexit.register(note)

# Run the environment's own module of this name, which this one hides.
_here = os.path.dirname(os.path.abspath(__file__))
_spec = PathFinder.find_spec("sitecustomize", [path for path in sys.path if os.path.abspath(path) != _here])
if _spec is not None and _spec.loader is not None:
    _module = module_from_spec(_spec)
    sys.modules["sitecustomize"] = _module
    _spec.loader.exec_module(_module)
