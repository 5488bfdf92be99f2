"""One session of an editor with the server, over pipes; and a server that is treated badly."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from tests.server.client import Client, Message, applied
from torchmigrate.cli import commands

PYPROJECT = '[project]\nname = "ranker"\nversion = "1"\ndependencies = ["torch>={}"]\n'
SCRIPTED = "import torch\n\n\n@torch.jit.script\ndef f(x):\n    return x + 1\n"
DECOMPOSED = "import torch\r\n\r\n\r\ndef f(x):\r\n\ts = '😀'; q, r = torch.qr(x)  # é\r\n\treturn q, r\r\n"
SAVED = "import torch\n\nmodel = torch.jit.script(Model())\nprint(torch.cuda.is_current_stream_capturing())\n"

AT_START = {"textDocument": {"uri": "file:///no"}, "position": {"line": 0, "character": 0}}
WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project."""
    made = tmp_path_factory.mktemp("ranker")
    (made / "pyproject.toml").write_text(PYPROJECT.format("2.12"))
    (made / "scripted.py").write_text(SCRIPTED)
    (made / "decomposed.py").write_bytes(DECOMPOSED.encode())
    (made / "saved.py").write_text(SAVED)
    (made / "requirements.txt").write_text(
        "torch==2.4.0+cu118\n--extra-index-url https://download.pytorch.org/whl/cu118\n"
    )
    (made / "broken.py").write_text("import torch\n\ntorch.qr(\n")
    return made.resolve()


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Client]:
    """A client in a session in that project."""
    made = Client("--no-cache", "--stdio", cwd=folder.parent)
    try:
        made.capabilities = made.initialize(folder)["capabilities"]
        yield made
    finally:
        made.kill()


def run(folder: Path, *arguments: str) -> None:
    """Calls the command line there, without a cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        commands.cli.main([*arguments, "--no-cache", "--quiet"], standalone_mode=False)


def plain(diagnostic: Message) -> tuple[Any, ...]:
    """A diagnostic as `check` says it, for a text in which characters and units are the same."""
    start, end = diagnostic["range"]["start"], diagnostic["range"]["end"]
    severity = {1: "error", 2: "warning", 3: "info"}[diagnostic["severity"]]
    where = (start["line"] + 1, start["character"] + 1, end["line"] + 1, end["character"] + 1)
    return diagnostic["code"], severity, diagnostic["message"], where


def action(client: Client, uri: str, title: str, only: list[str] | None = None) -> Message:
    """The action whose title begins so, with its edits."""
    offered = client.actions(uri, WHOLE, only)
    found = next((one for one in offered if one["title"].startswith(title)), None)
    assert found is not None, [one["title"] for one in offered]
    return client.request("codeAction/resolve", found)["result"]  # type: ignore[no-any-return]


def result_of(edit: Message, uri: str, text: str) -> str:
    """The text of a document after an action."""
    (change,) = [one for one in edit["documentChanges"] if one["textDocument"]["uri"] == uri]
    return applied(text, change["edits"])


def test_it_says_what_check_says(client: Client, folder: Path, tmp_path: Path) -> None:
    names = ("scripted.py", "saved.py", "requirements.txt", "broken.py")
    report_file = tmp_path / "report.json"
    run(folder, "check", "--output-format", "json", "--output-file", str(report_file))
    report = json.loads(report_file.read_text())
    uris = {name: client.open(folder / name) for name in names}
    for name in ("scripted.py", "saved.py", "requirements.txt"):
        expected = [
            (
                one["code"],
                one["severity"],
                f"{one['message']}\n{one['hint']}" if one["hint"] else one["message"],
                (one["line"], one["column"], one["end_line"], one["end_column"]),
            )
            for one in report["findings"]
            if one["path"] == name
        ]
        assert expected
        assert [plain(one) for one in client.shown(uris[name])] == expected
    (error,) = client.shown(uris["broken.py"])
    assert (error["message"], error["severity"]) == (report["errors"][0]["message"], 1)
    assert {one["value"]["kind"] for one in client.said("$/progress")} == {"begin", "report", "end"}
    assert client.said("client/registerCapability")


def test_it_follows_what_is_typed(client: Client, folder: Path) -> None:
    uri = client.open(folder / "typed.py", "import torch\r\n\x0c\r\nx = '😀'; \r\n")
    assert client.shown(uri) == []
    at = {"line": 2, "character": 10}
    client.change(uri, 2, {"range": {"start": at, "end": at}, "text": "torch.qr(x)"})
    (found,) = client.shown(uri, 2)
    assert (found["code"], found["range"]) == ("RM701", {"start": at, "end": {"line": 2, "character": 18}})
    client.change(uri, 3, {"text": "import torch\n"})
    assert client.shown(uri, 3) == []
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.again(uri, None) == []


def test_a_quick_fix_makes_what_fix_makes(client: Client, folder: Path) -> None:
    path = folder / "decomposed.py"
    uri = client.open(path)
    (found,) = client.shown(uri)
    assert found["range"]["start"] == {"line": 4, "character": 18}
    quick = action(client, uri, "Use `torch.linalg.qr`", ["quickfix"])
    everything = action(client, uri, "Apply all safe fixes", ["source.fixAll"])
    assert (quick["kind"], quick["isPreferred"]) == ("quickfix", True)
    assert everything["kind"] == "source.fixAll.torchmigrate"
    assert path.read_bytes() == DECOMPOSED.encode(), "it is the editor that writes"
    run(folder, "fix", "--apply", "decomposed.py")
    after = path.read_bytes().decode()
    assert after != DECOMPOSED
    assert result_of(quick["edit"], uri, DECOMPOSED) == after
    assert result_of(everything["edit"], uri, DECOMPOSED) == after
    assert client.actions(uri, WHOLE, ["refactor"]) == []


def test_an_unsafe_fix_is_marked_and_not_among_all(client: Client, folder: Path) -> None:
    path = folder / "scripted.py"
    uri = path.as_uri()
    offered = client.actions(uri, WHOLE)
    (unsafe,) = [one for one in offered if one["title"].endswith("(unsafe)")]
    assert "isPreferred" not in unsafe
    assert not [one for one in offered if one["title"].startswith("Apply all safe fixes")]
    made = client.request("codeAction/resolve", unsafe)["result"]["edit"]
    run(folder, "fix", "--apply", "--unsafe", "scripted.py")
    assert result_of(made, uri, SCRIPTED) == path.read_text()
    path.write_text(SCRIPTED)


def test_a_finding_is_silenced_by_a_comment(client: Client, folder: Path) -> None:
    uri = (folder / "saved.py").as_uri()
    made = action(client, uri, "Suppress TS101 here")["edit"]
    after = result_of(made, uri, SAVED)
    assert after == SAVED.replace("Model())\n", "Model())  # torchmigrate: ignore TS101\n")


def test_it_explains_a_rule(client: Client, folder: Path) -> None:
    def hover(line: int) -> Any:
        document = {"uri": (folder / "saved.py").as_uri()}
        at = {"line": line, "character": 15}
        return client.request("textDocument/hover", {"textDocument": document, "position": at})["result"]

    assert hover(2)["contents"]["value"].startswith("# TS101 ")
    assert hover(0) is None


def test_settings_and_project_files_count_when_they_are_saved(client: Client, folder: Path) -> None:
    path, uri = folder / "pyproject.toml", (folder / "saved.py").as_uri()

    def saved(text: str) -> list[Message]:
        path.write_text(text)
        event = {"uri": path.as_uri(), "type": 2}
        client.notify("workspace/didChangeWatchedFiles", {"changes": [event]})
        return client.again(uri)

    before = [one["code"] for one in client.shown(uri)]
    assert len(before) == 2
    assert "TS101" in before
    ignoring = PYPROJECT.format("2.12") + '[tool.torchmigrate]\nignore = ["TS101"]\n'
    assert [one["code"] for one in saved(ignoring)] == [code for code in before if code != "TS101"]
    assert not [one for one in client.log if one["method"] == "window/showMessage"]
    path.write_text(PYPROJECT.format("2.12") + "[tool.torchmigrate]\nignore = 3\n")
    client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})
    client.again(uri)
    (message,) = client.said("window/showMessage")
    assert "`ignore` must be a list of rule codes" in message["message"]
    assert [one["code"] for one in saved(PYPROJECT.format("2.12"))] == before


def test_other_files_count_when_they_change_on_the_disk(client: Client, folder: Path) -> None:
    uri = client.open(folder / "user.py", "from helper import decompose\n\ndecompose(1)\n")
    assert client.shown(uri) == []
    helper = folder / "helper.py"
    for text, kind, expected in (
        ("import torch\n\ndecompose = torch.qr\n", 1, ["RM701"]),
        ("def decompose(x):\n    return x\n", 2, []),
    ):
        helper.write_text(text)
        event = {"uri": helper.as_uri(), "type": kind}
        client.notify("workspace/didChangeWatchedFiles", {"changes": [event]})
        assert [one["code"] for one in client.again(uri)] == expected
    unsaved = client.open(helper, "import torch\n\ndecompose = torch.qr\n")
    assert [one["code"] for one in client.shown(unsaved)] == ["RM701"]
    assert [one["code"] for one in client.again(uri)] == ["RM701"], "what is unsaved counts for others"


def test_a_new_file_is_known_once_it_is_saved(client: Client, folder: Path) -> None:
    path, text = folder / "fresh.py", "import torch\n\ntorch.qr(x)\n"
    uri = client.open(path, text)
    assert [one["code"] for one in client.shown(uri)] == ["RM701"]
    path.write_text(text)
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert [one["code"] for one in client.again(uri)] == ["RM701"]


def test_a_notebook_is_shown_by_its_cells(client: Client, folder: Path) -> None:
    path = folder / "notebook.ipynb"
    cells = {"cell:1": "import torch\n%time 1", "cell:2": "x = 1\ntorch.qr(x)"}
    client.notify(
        "notebookDocument/didOpen",
        {
            "notebookDocument": {
                "uri": path.as_uri(),
                "notebookType": "jupyter-notebook",
                "version": 1,
                "cells": [{"kind": 2, "document": uri} for uri in cells],
            },
            "cellTextDocuments": [
                {"uri": uri, "languageId": "python", "version": 1, "text": text}
                for uri, text in cells.items()
            ],
        },
    )
    assert client.shown("cell:1") == []
    assert [one["range"]["start"]["line"] for one in client.shown("cell:2")] == [1]
    assert client.actions("cell:1", WHOLE, ["quickfix"]) == []
    hover = {"textDocument": {"uri": "cell:1"}, "position": {"line": 1, "character": 2}}
    assert client.request("textDocument/hover", hover)["result"] is None
    made = action(client, "cell:2", "Use `torch.linalg.qr`")["edit"]
    assert result_of(made, "cell:2", cells["cell:2"]) == "x = 1\ntorch.linalg.qr(x)"
    start = {"line": 1, "character": 0}
    change = {"range": {"start": start, "end": {"line": 1, "character": 11}}, "text": "y = 2"}
    structure = {"array": {"start": 0, "deleteCount": 1}}
    texts = [{"document": {"uri": "cell:2", "version": 2}, "changes": [change]}]
    client.notify(
        "notebookDocument/didChange",
        {
            "notebookDocument": {"uri": path.as_uri(), "version": 2},
            "change": {"cells": {"structure": structure, "textContent": texts}},
        },
    )
    assert client.shown("cell:2", 2) == []


def test_what_is_malformed_is_answered_and_ends_nothing(client: Client, folder: Path) -> None:
    before = len(client.said("window/logMessage"))
    client.write(b"{no json")
    client.write(b"[1, 2]")
    client.write(b'{"jsonrpc": "1.0", "method": "x"}')
    client.notify("textDocument/didChange", {"textDocument": {}})
    client.notify("textDocument/didOpen", {"textDocument": {"uri": 3}})
    client.notify("notebookDocument/didSave", {"notebookDocument": 3})
    client.notify(
        "textDocument/didChange", {"textDocument": {"uri": "file:///no", "version": 1}, "contentChanges": []}
    )
    assert client.request("textDocument/hover", {"position": 3})["error"]["code"] == -32602
    assert client.request("textDocument/nothing", {})["error"]["code"] == -32601
    assert client.request("codeAction/resolve", {"title": "x", "data": [1]})["error"]["code"] == -32602
    uri = client.open(folder / "stale.py", "import torch\ntorch.qr(x)\n")
    (offer, *_) = client.actions(uri, WHOLE)
    client.change(uri, 2, {"text": "import torch\n\ntorch.qr(x)\n"})
    assert client.request("codeAction/resolve", offer)["error"]["code"] == -32801
    assert [one["code"] for one in client.shown(uri, 2)] == ["RM701"]
    logged = [one["message"] for one in client.said("window/logMessage")[before:]]
    assert logged[0].startswith("JSONDecodeError: ")
    assert logged.count("JsonRpcInvalidParams: Invalid Params") >= 3


def test_it_ends_as_the_protocol_says(client: Client) -> None:
    client.request("shutdown")
    assert client.request("textDocument/hover", AT_START)["error"]["code"] == -32600
    client.notify("exit")
    assert client.process.wait(30) == 0


def test_without_a_beginning_nothing_is_served(folder: Path) -> None:
    client = Client("--no-cache", cwd=folder)
    try:
        uri = (folder / "saved.py").as_uri()
        assert client.request("textDocument/hover", AT_START)["error"]["code"] == -32002
        client.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "text": ""}})
        client.notify("exit")
        assert client.process.wait(30) == 1
    finally:
        client.kill()


def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygls", None)
    for name in [name for name in sys.modules if name.startswith("torchmigrate.server")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(click.ClickException, match=r"pip install 'torchmigrate\[lsp\]'"):
        commands.cli.main(["server"], standalone_mode=False)
