"""The picture of a run that the README shows: what `torchmigrate check` prints in the example, as SVG."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from xml.etree import ElementTree

from rich.console import Console
from rich.text import Text

from tests.documentation.declared import ROOT

PICTURE = ROOT / "docs" / "images" / "check.svg"
COMMAND = "torchmigrate check --select CU501,TS102"
WIDTH = 100
IN_TERMINAL = (
    "export TERM=xterm; "
    """python -c 'import pty, sys; pty.spawn(sys.argv[1:])' """
    f"sh -c 'COLUMNS={WIDTH} {COMMAND} 2>../notes' >../shown; cat ../notes ../shown"
)
"""Runs `COMMAND` in a terminal of its own, for which lines are wrapped; notes come without a progress bar."""

_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Fonts from the network, for which a page that shows a picture does not ask anyway."""


def drawn(printed: str) -> str:
    """A picture of a terminal in which `COMMAND` has printed this, in colours."""
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(Text(f"$ {COMMAND}", style="bold"))
    console.print(Text.from_ansi(printed))
    return _FONTS.sub("", console.export_svg(title="torchmigrate", unique_id="check"))


def lines(picture: str) -> list[str]:
    """The lines of a picture's text, without their blanks."""
    found: dict[float, str] = defaultdict(str)
    for element in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text"):
        found[float(element.get("y", "0"))] += "".join("".join(element.itertext()).split())
    return [found[height] for height in sorted(found)]


def present() -> str:
    """The picture that the README shows."""
    return PICTURE.read_text("utf-8")
