"""The weights that ``pretrained=True`` stands for, by model of torchvision, read from the decorators of the model builders; and
those whose addresses ``model_urls`` had."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.api import module
from tools.api.links import Links
from tools.api.markers import dotted
from tools.api.source import Source

DECORATOR = "handle_legacy_interface"
LAST_WITH_ADDRESSES = (1, 13)
"""The torch of the last torchvision, 0.14, with ``model_urls``."""


def write(newest: Source, last: Source, path: Path) -> None:
    """Write a row for each model builder of the newest release of torchvision, and each dictionary of the last one with any."""
    modules: dict[str, module.Module] = {}
    found: dict[str, list[dict[str, str]]] = {}
    for name, text, one in _read_modules(newest):
        modules[name] = one
        found |= {f"{name}.{function}": arguments for function, arguments in _read_builders(text)}
    links = Links(modules)
    builders = [
        {"names": _list_names(builder, modules, links), "arguments": arguments}
        for builder, arguments in sorted(found.items())
    ]
    urls = [
        {"name": f"{owner}.{name}", "weights": weights}
        for owner, text, _ in sorted(_read_modules(last), key=lambda one: one[0])
        for name, weights in _read_addresses(text, owner, modules, links)
    ]
    parts: dict[str, list[dict[str, Any]]] = {"builders": builders, "urls": urls}
    lines = (
        f'"{part}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n]"
        for part, rows in parts.items()
    )
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def _read_modules(source: Source) -> Iterator[tuple[str, str, module.Module]]:
    """Yield the name, the text and the contents of each module with models."""
    for file, text in source.files():
        if file.startswith("torchvision/models/") and file.endswith(".py"):
            parts = file.removesuffix(".py").split("/")
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            yield name, text, module.read(name, text, is_package=is_package)


def _list_names(definition: str, modules: Mapping[str, module.Module], links: Links) -> list[str]:
    """List the names of a definition in its module and in the packages around it, the shortest first."""
    leaf = definition.rpartition(".")[2]
    owners = sorted(
        (owner for owner in modules if definition.startswith(f"{owner}.")), key=lambda owner: owner.count(".")
    )
    return [
        f"{owner}.{leaf}"
        for owner in owners
        if (resolved := links.attribute(owner, leaf)) and resolved[0] == definition
    ]


def _read_addresses(
    text: str, owner: str, modules: Mapping[str, module.Module], links: Links
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each dictionary ``model_urls`` of a module: a model → its weights."""
    for node in ast.parse(text).body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(id="_ModelURLs"), args=[ast.Dict(keys=keys, values=values)]),
            ):
                found: dict[str, str] = {}
                for key, value in zip(keys, values, strict=True):
                    enumeration, _, member = dotted(value).removesuffix(".url").rpartition(".")
                    if (
                        isinstance(key, ast.Constant)
                        and isinstance(key.value, str)
                        and (resolved := links.attribute(owner, enumeration) if owner in modules else None)
                    ):
                        found[key.value] = f"{_list_names(resolved[0], modules, links)[0]}.{member}"
                yield name, found


def _read_builders(text: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield the functions with the decorator, and their old arguments with the new ones."""
    for node in ast.parse(text).body:
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            if isinstance(decorator, ast.Call) and dotted(decorator.func) == DECORATOR:
                assert isinstance(node, ast.FunctionDef)
                yield node.name, [_read_argument(keyword) for keyword in decorator.keywords]


def _read_argument(keyword: ast.keyword) -> dict[str, str]:
    """Read ``weights=("pretrained", ResNet18_Weights.IMAGENET1K_V1)``."""
    assert isinstance(keyword.value, ast.Tuple)
    old, value = keyword.value.elts
    assert isinstance(old, ast.Constant)
    assert keyword.arg is not None
    return {"old": old.value, "new": keyword.arg, **_read_value(value)}


def _read_value(value: ast.expr) -> dict[str, Any]:
    """Read the weights; those that depend on other arguments than ``quantize`` are left out."""
    if isinstance(value, ast.Attribute):
        return {"weights": value.attr}
    body = value.body if isinstance(value, ast.Lambda) else None
    if isinstance(body, ast.Subscript) and isinstance(body.slice, ast.Constant):
        return {"weights": body.slice.value}
    if isinstance(body, ast.IfExp) and isinstance(body.body, ast.Attribute):
        assert isinstance(body.orelse, ast.Attribute)
        quantized = {"quantized": body.body.attr} if "quantize" in ast.unparse(body.test) else {}
        return {"weights": body.orelse.attr, **quantized}
    return {}
