"""``crfkit inspect`` for a GraphCRF: its size, weights of attributes, and of label pairs by type of edge."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crfkit.cli.messages import ending
from crfkit.cli.tables import file_size, score_matrix, screen_width, shorten
from crfkit.exceptions import InputError
from crfkit.models.graphs.linear_part import LinearPart

if TYPE_CHECKING:
    from crfkit.models.graphs.tagger import GraphTagger

OPTIONS = ()
_SHOWN = 10  # weights of each label


def dump(
    arguments: argparse.Namespace, tagger: GraphTagger, header: dict[str, Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield all weights other than 0: attribute or type of edge, first label or #, label, weight."""
    names, part = [str(label) for label in tagger.classes], _linear(tagger)
    for attribute, label, weight in part.state_weights():
        yield attribute, "#", names[label], repr(weight)
    for attribute, first, second, weight in part.pair_weights():
        yield attribute, names[first], names[second], repr(weight)


def _linear(tagger: GraphTagger) -> LinearPart:
    """Return the part of a linear model; raise if it is not."""
    if not isinstance(tagger.part, LinearPart):
        raise InputError(f"the model has no weights by attribute: its potential is {tagger.part.name}")
    return tagger.part


def sections(arguments: argparse.Namespace, tagger: GraphTagger, header: dict[str, Any]) -> list[list[str]]:
    """Return the requested sections as lines of text."""
    shows_top = arguments.top is not None or arguments.label is not None
    overview = not shows_top and not arguments.transitions
    shown = [_summary_lines(arguments.model, tagger, header)] if overview else []
    if shows_top:
        shown.append(_top_lines(tagger, arguments.label, arguments.top or _SHOWN))
    if overview or arguments.transitions:
        shown += [
            [
                f"label pairs of edges{f' of type {name}' if name else ''}",
                *score_matrix(tagger.classes, table),
            ]
            for name, table in zip(tagger.part.names.types, tagger.part.tables, strict=True)
        ]
    return shown


def _summary_lines(path: str, tagger: GraphTagger, header: dict[str, Any]) -> list[str]:
    params, history = header.get("params", {}), header.get("history", [])
    facts = {
        "labels": f"{len(tagger.classes):,}",
        **tagger.facts(),
        "maximised": str(header.get("maximised", params.get("training", ""))),
        "training": ending(history, header.get("converged", True)),
    }
    if isinstance(header.get("objective"), float):
        facts["objective"] = f"{header['objective']:,.2f}"
    return [f"{path}: graph CRF{file_size(path)}", *(f"  {name:15}{value}" for name, value in facts.items())]


def _top_lines(tagger: GraphTagger, label: str | None, top: int) -> list[str]:
    limit, lines = screen_width() or 10**6, []
    weights = list(_linear(tagger).state_weights())
    for k, name in enumerate(tagger.classes):
        if label is not None and str(name) != label:
            continue
        own = sorted((w for w in weights if w[1] == k), key=lambda w: -w[2])
        lines.append(f"{name}: attributes of nodes")
        chosen = own if len(own) <= 2 * top else own[:top] + own[-top:]
        lines += [shorten(f"  {weight:+9.4f}  {attribute}", limit) for attribute, _, weight in chosen]
    return lines


def to_json(arguments: argparse.Namespace, tagger: GraphTagger, header: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of the model as JSON values, with all digits."""
    names, types = [str(label) for label in tagger.classes], tagger.part.names.types
    found: dict[str, Any] = {
        "model": arguments.model,
        "kind": header["model"],
        "potential": tagger.part.name,
        "labels": names,
        "edge_types": types,
        "inference": tagger.inference,
        "objective": header.get("objective"),
        "pairs": {name: table.tolist() for name, table in zip(types, tagger.part.tables, strict=True)},
    }
    if isinstance(tagger.part, LinearPart):
        found["nodes"] = [
            {"attribute": attribute, "label": names[label], "weight": weight}
            for attribute, label, weight in tagger.part.state_weights()
        ]
    return found
