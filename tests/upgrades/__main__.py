"""Runs the comparison: ``python -m tests.upgrades LABELS HISTORIES``.

LABELS has a JSON object a line: ``repo``, ``parent`` (a commit), ``file``, ``line``, ``category``, ``symbol``. HISTORIES
has a git directory ``owner+name/repo`` for each repository; nothing is downloaded. A label is found where a finding covers
its line, and found in the file where one is about the same name elsewhere.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.support import check_text


def main(labels: Path, histories: Path) -> None:
    """Prints each label with what is found, and the counts by category."""
    counts: Counter[tuple[str, str]] = Counter()
    for line in labels.read_text("utf-8").splitlines():
        label = json.loads(line)
        found = outcome(label, histories / label["repo"].replace("/", "+") / "repo")
        counts[label["category"], found] += 1
        print(f"{found:8} {label['category']:10} {label['symbol']:60.60} {label['file']}:{label['line']}")
    for (category, found), count in sorted(counts.items()):
        print(f"{count:4} {found:8} {category}")
    print(
        {kind: sum(n for (_, found), n in counts.items() if found == kind) for kind in ("line", "file", "no")}
    )


def outcome(label: dict[str, Any], history: Path) -> str:
    """ "line", "file", "no", or "unknown" where the file before the change cannot be had."""
    shown = subprocess.run(
        ["git", f"--git-dir={history}", "show", f"{label['parent']}:{label['file']}"], capture_output=True
    )
    if shown.returncode:
        return "unknown"
    try:
        findings = check_text(shown.stdout.decode("utf-8", "replace"), path=label["file"])
    except AssertionError:
        return "unknown"
    for finding in findings:
        at = finding.location
        if at is not None and at.line - 1 <= label["line"] <= at.end_line + 1:
            return "line"
    name = re.split(r"[ (/]", label["symbol"])[0].rpartition(".")[2]
    return "file" if any(name in finding.message for finding in findings) else "no"


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
