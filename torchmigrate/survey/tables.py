"""The results as tables: JSON Lines, a SQLite file, and Parquet. Equal results make equal files."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.util import find_spec
from typing import Any

from torchmigrate.survey.records import Record
from torchmigrate.survey.store import Store

TABLES = ("repositories", "findings", "releases")

_BATCH = 1_000
"""The number of rows that are written at a time."""


def read_schema() -> dict[str, Any]:
    """Return the JSON schema of the records."""
    text = resources.files("torchmigrate.survey").joinpath("survey.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def read_columns() -> Mapping[str, Mapping[str, str]]:
    """Return the columns of each table with their type, ``string``, ``integer``, ``boolean`` or ``array``, from the schema."""
    found = {}
    for table in TABLES:
        fields = read_schema()["$defs"][table]["properties"]
        kinds = {name: field["type"] for name, field in fields.items()}
        found[table] = {name: kind if isinstance(kind, str) else kind[0] for name, kind in kinds.items()}
    return found


class Tables:
    """The tables of a survey, which are written row by row; to be used as a context, at whose end they are in place.

    Parquet files are written only where pyarrow is installed.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows: dict[str, list[Record]] = {table: [] for table in TABLES}
        self._columns = read_columns()
        self._parquet: dict[str, Any] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Tables:
        folder, enter = self._store.folder, self._stack.enter_context
        self._lines = {table: enter(self._store.write_text(f"{table}.jsonl")) for table in TABLES}
        self._database = enter(
            contextlib.closing(sqlite3.connect(enter(_replaced(f"{folder}/survey.sqlite"))))
        )
        for table, columns in self._columns.items():
            listed = ", ".join(
                f'"{name}" {"INTEGER" if kind in ("integer", "boolean") else "TEXT"}'
                for name, kind in columns.items()
            )
            self._database.execute(f"CREATE TABLE {table} ({listed})")
        if find_spec("pyarrow"):
            for table, columns in self._columns.items():
                place = enter(_replaced(f"{folder}/{table}.parquet"))
                self._parquet[table] = enter(_open_parquet(place, columns))
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        if kind is None:
            for table in TABLES:
                self._write_batch(table)
            self._database.execute("CREATE INDEX by_rule ON findings (code, repository)")
            self._database.commit()
        self._stack.__exit__(kind, *rest)

    def add_record(self, table: str, record: Record) -> None:
        """Add a row to a table."""
        self._rows[table].append(record)
        if len(self._rows[table]) >= _BATCH:
            self._write_batch(table)

    def _write_batch(self, table: str) -> None:
        rows, columns = self._rows[table], self._columns[table]
        self._lines[table].writelines(json.dumps(row) + "\n" for row in rows)
        marks = ", ".join("?" * len(columns))
        values = [[_to_sql(row[name]) for name in columns] for row in rows]
        self._database.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
        if self._parquet:
            writer = self._parquet[table]
            writer.write_table(
                importlib.import_module("pyarrow").Table.from_pylist(rows, schema=writer.schema)
            )
        rows.clear()


def _to_sql(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list) else value


def _open_parquet(place: str, columns: Mapping[str, str]) -> Any:
    arrow: Any = importlib.import_module("pyarrow")
    parquet: Any = importlib.import_module("pyarrow.parquet")
    types = {
        "string": arrow.string(),
        "integer": arrow.int64(),
        "boolean": arrow.bool_(),
        "array": arrow.list_(arrow.string()),
    }
    return parquet.ParquetWriter(place, arrow.schema([(name, types[kind]) for name, kind in columns.items()]))


@contextlib.contextmanager
def _replaced(place: str) -> Iterator[str]:
    """Yield the path of a new file that takes the place of the old one if nothing fails."""
    new = f"{place}.new"
    with contextlib.suppress(FileNotFoundError):
        os.remove(new)
    try:
        yield new
        os.replace(new, place)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(new)


def iterate_lines(folder: str, table: str) -> Iterator[Record]:
    """Yield the records of a table in the results of a survey. Raises OSError, and ValueError for malformed ones."""
    with open(os.path.join(folder, f"{table}.jsonl"), encoding="utf-8") as file:
        yield from map(json.loads, file)
