"""What the page sees and sends: the session as JSON values."""

from __future__ import annotations

from typing import Any

from crfkit.annotate.curve import curve
from crfkit.annotate.pool import ORDERS
from crfkit.annotate.session import Session
from crfkit.annotate.tag_set import Marks, Span
from crfkit.exceptions import InputError
from crfkit.report.colours import DARK, LIGHT, N_COLOURS, Paper, places_of


def state_of(session: Session) -> dict[str, Any]:
    """Return everything that the page shows."""
    tags, answers = session.store.tags, session.store.answers
    places = places_of(tags.types)
    return {
        "labels": [
            {
                "name": name,
                "key": key,
                "colour": places[name] % N_COLOURS,
                "turn": min(places[name] // N_COLOURS, 3),  # another line below, where colours repeat
            }
            for name, key in zip(tags.types, tags.shortcuts(), strict=True)
        ],
        "outside": tags.scheme is not None,  # whether a token without a mark is outside, or unknown
        "order": session.pool.order,
        "orders": [{"name": name, "words": order.words} for name, order in ORDERS.items()],
        "sentence": _sentence(session),
        "progress": {
            "done": len(answers),
            "left": int(session.pool.open.sum()),
            "fitted_on": session.fitted_on,
            "has_model": session.learner.has_model,
            "fitting": session.fitting,
            "failure": session.failure,
            "recent": curve(answers, sampled=False),
            "sample": curve(answers, sampled=True),
            "n_sample": sum(answer.sampled and answer.proposed is not None for answer in answers),
        },
        "file": session.store.path,
    }


def colour_sheet() -> str:
    """Return the style sheet of the label colours, for light and dark."""

    def rules(paper: Paper) -> str:
        pairs = zip(paper.fills, paper.edges, strict=True)
        return "\n".join(
            f".k{k} {{ --c: {fill}; --e: {edge}; --on: {paper.text}; }}"
            for k, (fill, edge) in enumerate(pairs)
        )

    return f"{rules(LIGHT)}\n@media (prefers-color-scheme: dark) {{\n{rules(DARK)}\n}}\n"


def _sentence(session: Session) -> dict[str, Any] | None:
    now = session.current()
    if now is None:
        return None
    proposal = now.proposal
    return {
        "number": now.number,
        "rows": now.rows,
        "spans": now.marks.spans,
        "unknown": now.marks.unknown,
        "proposed": None if proposal is None else proposal.labels,
        "probabilities": [] if proposal is None else [round(p, 3) for p in proposal.probabilities],
    }


def marks_of(content: dict[str, Any]) -> tuple[int, Marks]:
    """Return the sentence's number and its marks from what the page has sent."""
    number, spans, unknown = (content.get(name) for name in ("sentence", "spans", "unknown"))
    if not _whole(number) or not isinstance(spans, list) or not isinstance(unknown, list):
        raise InputError('expected {"sentence": number, "spans": [[start, stop, label], …], "unknown": […]}')
    for span in spans:
        fits = isinstance(span, list) and len(span) == 3 and isinstance(span[2], str)
        if not fits or not all(map(_whole, span[:2])):
            raise InputError(f"expected spans of the form [start, stop, label], got {span!r:.80}")
    for t in unknown:
        if not _whole(t):
            raise InputError(f"expected numbers of unknown tokens, got {t!r:.80}")
    return int(number or 0), Marks([Span(*span) for span in spans], unknown)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
