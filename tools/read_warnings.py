"""Lists the warnings that a release of torch can show in ``tools/api/warnings.txt``, and prints the undecided ones.

    python tools/read_warnings.py torch-2.16.0….whl   # a wheel for macOS is the smallest that has all of them
    python tools/read_warnings.py                     # only says which of the list are undecided

Decide each by an entry of ``changes.toml`` or a rule, or by a reason in ``tools/api/warnings.toml``; ``tests/ledger`` checks that none
is left.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # so that it also runs as a script

from tools.api import decided_warnings, shown_warnings  # noqa: E402


def main(arguments: list[str] | None = None) -> int:
    """Write the list, and print what is undecided; the exit status is 1 if something is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", nargs="?", type=Path, help="a wheel of torch")
    options = parser.parse_args(arguments)
    if options.wheel is not None:
        found = shown_warnings.read_wheel(options.wheel)
        text = "".join(f"{warning.render_line()}\n" for warning in found)
        decided_warnings.LIST.write_text(text, "utf-8")
    warnings = decided_warnings.load_warnings()
    left = decided_warnings.find_undecided(warnings)
    print("".join(f"{warning.render_line()}\n" for warning in left), end="")
    print(f"{len(left)} of {len(warnings)} warnings are undecided", file=sys.stderr)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
