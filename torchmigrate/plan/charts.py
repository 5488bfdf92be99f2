"""Charts as inline SVG, colored by the page's style sheet. Their texts come from this program, never from the project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torchmigrate.model.torch_versions import render_version
from torchmigrate.model.vocabulary import Severity
from torchmigrate.plan import phrases
from torchmigrate.plan.model import Effort, ReleaseFindings

_WIDTH, _HEIGHT, _BASE = 640, 170, 150


def effort_class(effort: Effort) -> str:
    """Return the CSS class of an effort."""
    return effort.name.lower()


def render_effort_chart(efforts: Counter[Effort]) -> str:
    """Return one bar that is divided by effort, with its key."""
    total = sum(efforts.values()) or 1
    parts, at = [], 0.0
    for effort in Effort:
        number = efforts[effort]
        if number:
            wide = _WIDTH * number / total
            parts.append(
                f'<rect class="fill-{effort_class(effort)}" x="{at:.1f}" y="0" width="{max(wide - 1, 1):.1f}" height="26">'
                f"<title>{number} {effort.value}</title></rect>"
            )
            at += wide
    label = phrases.describe_efforts(efforts)
    bar = f'<svg viewBox="0 0 {_WIDTH} 26" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    keys = "".join(
        f"<li>{_render_swatch(effort_class(effort))}{efforts[effort]} {effort.value}: {phrases.MEANINGS[effort]}</li>"
        for effort in Effort
        if efforts[effort]
    )
    return f'{bar}<ul class="key">{keys}</ul>'


def render_release_chart(releases: Sequence[ReleaseFindings]) -> str:
    """Return a bar for each release, divided by severity."""
    return render_severity_chart([(render_version(one.version), one.severities) for one in releases])


def render_severity_chart(bars: Sequence[tuple[str, Counter[Severity]]]) -> str:
    """Return a bar for each label, divided by severity."""
    highest = max((sum(counted.values()) for _, counted in bars), default=0) or 1
    step = _WIDTH / max(len(bars), 1)
    wide = min(step * 0.7, 60)
    parts = [f'<line class="axis" x1="0" x2="{_WIDTH}" y1="{_BASE}" y2="{_BASE}"/>']
    for index, (label, counted) in enumerate(bars):
        left, top = index * step + (step - wide) / 2, float(_BASE)
        for severity in Severity:
            number = counted[severity]
            tall = (_BASE - 18) * number / highest
            top -= tall
            if number:
                parts.append(
                    f'<rect class="fill-{severity.value}" x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" '
                    f'height="{tall:.1f}"><title>{label}: {number} {phrases.VERBS[severity]}</title></rect>'
                )
        middle = left + wide / 2
        total = sum(counted.values())
        parts.append(f'<text x="{middle:.1f}" y="{top - 4:.1f}" text-anchor="middle">{total}</text>')
        parts.append(f'<text x="{middle:.1f}" y="{_HEIGHT - 5}" text-anchor="middle">{label}</text>')
    said = "; ".join(
        f"{label}: {', '.join(f'{counted[s]} {phrases.VERBS[s]}' for s in Severity)}"
        for label, counted in bars
    )
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{said}">{"".join(parts)}</svg>'


def render_severity_key() -> str:
    """Return the key to the colors of `render_severity_chart`."""
    listed = "".join(f"<li>{_render_swatch(one.value)}{phrases.VERBS[one]}</li>" for one in Severity)
    return f'<ul class="key">{listed}</ul>'


def _render_swatch(name: str) -> str:
    return f'<svg viewBox="0 0 10 10" aria-hidden="true"><rect class="fill-{name}" width="10" height="10"/></svg>'
