"""The weights of torchvision's models: ``data/model_weights.json``, written by ``tools/read_companion_apis.py``."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WeightsArgument:
    """An old argument of a model builder (``pretrained=``), and the new one that takes its place."""

    old: str
    new: str
    weights: str | None
    """The weights that the old argument stood for if it was true: ``IMAGENET1K_V1``; None if there were none."""
    quantized: str | None
    """The weights that it stood for with ``quantize=True``, if they are others."""


@functools.cache
def load_arguments() -> Mapping[str, tuple[WeightsArgument, ...]]:
    """Return the old arguments of each model builder, by each of its qualified names."""
    found: dict[str, tuple[WeightsArgument, ...]] = {}
    for row in _load()["builders"]:
        arguments = tuple(
            WeightsArgument(one["old"], one["new"], one.get("weights"), one.get("quantized"))
            for one in row["arguments"]
        )
        found |= dict.fromkeys(row["names"], arguments)
    return found


@functools.cache
def load_addresses() -> Mapping[str, Mapping[str, str]]:
    """Return the dictionaries of addresses by qualified name; each leads from a model to the qualified name of its weights."""
    return {row["name"]: row["weights"] for row in _load()["urls"]}


@functools.cache
def _load() -> Any:
    from importlib import resources

    return json.loads(
        (resources.files("torchmigrate.tables") / "data" / "model_weights.json").read_text("utf-8")
    )
