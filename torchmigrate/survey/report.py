"""All results of a survey, made from what is kept: the tables, the history, and the page."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from typing import Any

from torchmigrate.cli.options import Failure
from torchmigrate.engine.registry import load_rules
from torchmigrate.model.rule import Rule
from torchmigrate.survey import records
from torchmigrate.survey.order import order_repositories
from torchmigrate.survey.page import render_survey
from torchmigrate.survey.store import Store
from torchmigrate.survey.summary import Summary
from torchmigrate.survey.tables import Tables

_COUNTED = (
    "repositories",
    "failed",
    "files",
    "error",
    "warning",
    "info",
    "mechanical",
    "review",
    "decide",
    "redo artifact",
)


def write_report(store: Store, today: str | None) -> Summary:
    """Write the results, and return their totals. ``today``, a date, adds them to the history. Raises `Failure`.

    What is kept is read twice, one repository at a time.
    """
    rules = load_rules()
    try:
        summary = _write_tables(store, rules)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise Failure(f"the tables in {store.folder} cannot be written: {reason}") from None
    history = read_history(store.folder)
    if today:
        entry = {"date": today, **{name: summary.totals[name] for name in _COUNTED}}
        history = [*(one for one in history if one["date"] != today), entry]
        with store.write_text("history.jsonl") as file:
            file.writelines(json.dumps(one) + "\n" for one in history)
    with store.write_text("index.html") as file:
        file.write(render_survey(summary, history, rules))
    return summary


def _write_tables(store: Store, rules: Mapping[str, Rule]) -> Summary:
    order, summary = order_repositories(store.iterate()), Summary()
    with Tables(store) as tables:
        for kept in store.iterate():
            repository = records.create_repository_record(kept, order)
            findings = list(records.iterate_finding_records(kept, rules))
            releases = list(records.iterate_release_records(kept))
            for table, rows in (
                ("repositories", [repository]),
                ("findings", findings),
                ("releases", releases),
            ):
                for row in rows:
                    tables.add_record(table, row)
            summary.add_repository(repository, findings, releases)
    return summary


def read_history(folder: str) -> list[dict[str, Any]]:
    """Return the totals of each day on which the survey was run, in order; [] if there are none."""
    try:
        with open(os.path.join(folder, "history.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except (OSError, ValueError):
        return []
