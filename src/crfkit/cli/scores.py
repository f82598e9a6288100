"""Scores in conlleval's layout, for labels with segments in them and for plain ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from crfkit.cli.messages import note

if TYPE_CHECKING:
    from crfkit.data.label_codes import LabelCodes
    from crfkit.metrics import ConllevalReport

_TAGGED = re.compile(r"([BIESLU\[\]]|O|\.)(-|$)")


def are_plain(labels: Iterable[str]) -> bool:
    """Whether the labels spell no segments: none is such as ``B-LOC`` or ``I``, as with parts of speech."""
    named = [label for label in labels if label != "O"]
    return bool(named) and not any(_TAGGED.match(label) for label in named)


def conlleval_report(
    true: LabelCodes,
    found: LabelCodes,
    *,
    scheme: str | None = None,
    strict: bool = False,
    raw: bool = False,
    outside: str = "O",
) -> ConllevalReport:
    """Scores of segments, or of tokens where the labels have no segments; ``print`` shows them."""
    from crfkit import metrics

    if not raw and scheme is None and not strict and are_plain(map(str, (*true.names, *found.names))):
        note("the labels spell no segments (there is no B-, no I-): each token is scored by itself, as by --raw")
        raw = True
    if strict:
        report = metrics.strict_segment_scores(true, found, scheme=scheme or "auto")
        return metrics.ConllevalReport(**vars(report))
    return metrics.conlleval(true, found, scheme=scheme, raw=raw, outside=outside)
