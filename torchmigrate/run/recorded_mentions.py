"""The recorded inputs of scripts and traces, as facts about the project that rules ask for."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TypeVar

from torchmigrate.model.vocabulary import Kind
from torchmigrate.project.mentions import Mention
from torchmigrate.project.project_facts import Project
from torchmigrate.record.file_evidence import FileEvidence
from torchmigrate.record.record_facts import RECORDED_INPUTS, ExportProof, ModuleInput, ScriptCall
from torchmigrate.record.recorded_inputs import find_example, list_single_rows, render_example
from torchmigrate.record.run_record import Record
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceError

F = TypeVar("F", ScriptCall, ModuleInput)


def create_mentions(record: Record, project: Project) -> Iterator[Mention]:
    """Yield example inputs of each scripted or traced module, as JSON: ``[[{"dtype": "float32", "sizes": [2, 16]}], {}]``."""
    for path, facts in record.by_path.items() if record.is_own else ():
        place = os.path.join(record.base, path)
        has_inputs = any(isinstance(fact, (ScriptCall, ModuleInput)) for fact in facts)
        data = project.read_bytes(place) if has_inputs else None
        if data is None:
            continue
        try:
            source = read_source(place, data)
        except SourceError:
            continue
        evidence = FileEvidence(source, record.get_file(place))
        calls, inputs = _group_by_line(evidence, ScriptCall), _group_by_line(evidence, ModuleInput)
        for line in {**inputs, **calls}:
            seen = calls.get(line) or inputs[line]
            example = find_example(seen)
            if example is None:
                continue
            single = list_single_rows(seen, example)
            proofs = evidence.find_facts(ExportProof, line, line)
            # A second row may be none of the module's; a proof has tried it.
            if not any(single) or all(proof.holds for proof in proofs):
                text = json.dumps(render_example(example, single))
                yield Mention(RECORDED_INPUTS, Kind.CALL, place, line, (("inputs", text),))


def _group_by_line(evidence: FileEvidence, kind: type[F]) -> dict[int, list[F]]:
    found: dict[int, list[F]] = {}
    for line, fact in evidence.find_lines(kind):
        found.setdefault(line, []).append(fact)
    return found
