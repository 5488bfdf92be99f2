"""The recorded inputs of scripts and traces, as facts about the project that rules ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator

from torchmigrate.model.vocabulary import Kind
from torchmigrate.project.mentions import Mention
from torchmigrate.project.project_facts import Project
from torchmigrate.record.record_facts import RECORDED_INPUTS, ScriptCall
from torchmigrate.record.recorded_inputs import find_inputs
from torchmigrate.record.run_record import FileEvidence, Record
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceError


def create_mentions(record: Record, project: Project) -> Iterator[Mention]:
    """Yield the positional tensors of each scripted or traced module, such as ``float32[2,16] int64[2,8]``."""
    for path, facts in record.by_path.items() if record.is_own else ():
        place = os.path.join(record.base, path)
        data = project.read_bytes(place) if any(isinstance(fact, ScriptCall) for fact in facts) else None
        if data is None:
            continue
        try:
            source = read_source(place, data)
        except SourceError:
            continue
        calls: dict[int, list[ScriptCall]] = {}
        for line, call in FileEvidence(source, record.get_file(place)).find_lines(ScriptCall):
            calls.setdefault(line, []).append(call)
        for line, found in calls.items():
            tensors = find_inputs(found)
            if tensors:
                text = " ".join(f"{one.dtype}[{','.join(map(str, one.sizes))}]" for one in tensors)
                yield Mention(RECORDED_INPUTS, Kind.CALL, place, line, (("inputs", text),))
