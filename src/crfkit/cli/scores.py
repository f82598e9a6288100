"""Scores in conlleval's layout, for labels with and without segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crfkit.cli.messages import note

if TYPE_CHECKING:
    from crfkit.data.label_codes import LabelCodes
    from crfkit.metrics import ConllevalReport


def conlleval_report(
    true: LabelCodes,
    found: LabelCodes,
    *,
    scheme: str | None = None,
    strict: bool = False,
    raw: bool = False,
) -> ConllevalReport:
    """Score segments, or tokens if the labels have no segments; ``print`` shows the report."""
    from crfkit import metrics
    from crfkit.metrics.segments import are_plain

    plain = are_plain([*true.names, *found.names])
    if not raw and scheme is None and not strict and plain:
        note("the labels have no segments (no B-, no I-): each token is scored by itself (--raw)")
        raw = True
    if strict:
        report = metrics.strict_segment_scores(true, found, scheme=scheme or "auto")
        return metrics.ConllevalReport(**vars(report))
    return metrics.conlleval(true, found, scheme=scheme, raw=raw)
