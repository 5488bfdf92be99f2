"""Which files take what others export, by their text."""

from __future__ import annotations

import pytest

from torchmigrate.project.import_scan import ImportIndex, ImportPrefilter

EXPORTED = {"/p/pkg/compat.py": ["script"], "/p/pkg/__init__.py": ["load"], "/p/pkg/compat.h": ["jit"]}


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("from .compat import script", True),
        ("from pkg.compat import (  # all (but one)\n    other,\n    script as s,\n)", True),
        ("try:\n    from pkg.compat \\\n        import script\nexcept ImportError:\n    pass", True),
        ("from .. compat import script", True),
        ("from .compat import *\nscript(f)", True),
        ("from .compat import *\nother(f)", True),
        ("from .compat import other\nscript = None", False),
        ("from other import script", False),
        ("from . import compat\ncompat.script(f)", True),
        ("from . import compat\ncompat.other(f)", False),
        ("import pkg.compat as c; c.script(f)", True),
        ("import os; import pkg.compat\npkg.compat.script(f)", True),
        ("import os, pkg.compat\npkg.compat.script(f)", True),
        ("from .. import load", True),
        ("from pkg import load", True),
        ("from os import load", False),
        ("x = yield from compat\nimport os\nscript(f)", False),
        ('{"source": ["from pkg.compat import script\\n"]}', True),
        ('{"source": ["import pkg.compat as c\\n", "c.script(f)"]}', True),
    ],
)
def test_what_a_module_takes(text: str, takes: bool) -> None:
    importing = ImportPrefilter(EXPORTED)
    assert importing.may_import("/p/user.py", text.encode()) is takes
    index = ImportIndex(["/p/user.py"], lambda path: text.encode())
    assert takes <= ("/p/user.py" in index.find_candidates(importing.modules))


@pytest.mark.parametrize(
    ("text", "takes"),
    [('#include "pkg/compat.h"', True), ("#include <compat.h>", True), ("#include <other.h>", False)],
)
def test_what_a_source_includes(text: str, takes: bool) -> None:
    assert ImportPrefilter(EXPORTED).may_import("/p/user.cpp", text.encode()) is takes
