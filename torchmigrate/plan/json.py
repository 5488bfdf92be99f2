"""A plan as one JSON object, described by `torchmigrate/plan/plan.schema.json`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from torchmigrate import __version__
from torchmigrate.model import torch_versions
from torchmigrate.model.vocabulary import Severity
from torchmigrate.plan.model import Effort, Plan, PlanItem, PlanStep

SCHEMA_VERSION = 1
"""The version of the format; it grows when a field goes or changes its meaning, not when one is added."""


def render_json(plan: Plan) -> str:
    """Return the plan as JSON in ASCII, without anything that GitHub takes for a workflow command."""
    return json.dumps(build_document(plan), indent=2).replace("##[", r"#\u0023[") + "\n"


def build_document(plan: Plan) -> dict[str, Any]:
    """Return the plan as an object for JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "version": __version__,
        "origin": {
            "project": plan.origin.project,
            "date": plan.origin.date or None,
            "commit": plan.origin.commit or None,
            "has_changes": plan.origin.has_changes,
            "link_base": plan.origin.link_base or None,
        },
        "min_version": torch_versions.render_version(plan.minimum),
        "min_version_source": plan.source or None,
        "several_projects": plan.several,
        "target_version": torch_versions.render_version(plan.target),
        "files": plan.files,
        "suppressed": plan.suppressed,
        "findings": {severity.value: plan.severities[severity] for severity in Severity},
        "efforts": {effort.value: plan.efforts[effort] for effort in Effort},
        "steps": [_render_step(step) for step in plan.steps],
        "releases": [
            {
                "version": torch_versions.render_version(release.version),
                "findings": {severity.value: release.severities[severity] for severity in Severity},
                "rules": {
                    code: {severity.value: counted[severity] for severity in Severity if counted[severity]}
                    for code, counted in sorted(release.rules.items())
                },
            }
            for release in plan.releases
        ],
        "errors": [
            {"path": error.path, "line": error.line, "column": error.column, "message": error.message}
            for error in plan.errors
        ],
    }


def _render_step(step: PlanStep) -> dict[str, Any]:
    return {
        "stage": step.stage.value,
        "title": step.title,
        "why": step.why,
        "efforts": {effort.value: step.efforts[effort] for effort in Effort},
        "commands": list(step.commands),
        "together": [list(paths) for paths in step.together],
        "proposals": [asdict(proposal) for proposal in step.proposals],
        "rules": [
            {
                "code": group.code,
                "name": group.name,
                "summary": group.summary,
                "source": group.source or None,
                "findings": [_render_item(item) for item in group.items],
            }
            for group in step.groups
        ],
    }


def _render_item(item: PlanItem) -> dict[str, Any]:
    finding = item.finding
    where = finding.location
    return {
        "path": finding.path,
        "cell": where.cell if where else None,
        "line": where.line if where else None,
        "column": where.column if where else None,
        "severity": finding.severity.value,
        "effort": item.effort.value,
        "message": finding.message,
        "hint": finding.hint,
        "fix": item.title or None,
        "fix_needs": torch_versions.render_version(item.minimum) if item.minimum else None,
        "withheld": finding.withheld,
        "evidence": finding.evidence,
        "owners": list(item.owners),
        "releases": {
            torch_versions.render_version(version): severity.value for version, severity in item.course
        },
    }
