"""``crfkit inspect`` for a SemiCRF: its size, lengths, pairs of labels and strongest weights."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.cli.tables import fact_lines, file_size, matrix, score_matrix, shorten
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.models.segments.tagger import SegmentTagger

OPTIONS = ("attribute", "template")
_SHOWN = 10  # weights, unless --top is given
_LENGTHS = 12  # shown of each label
_WIDTH = 60
_PARTS = {"state": "", "last": "last ", "span": "segment "}  # prefixes of attributes


def _weights(tagger: SegmentTagger) -> Iterator[tuple[str, str, float]]:
    """Yield attribute, label and weight of all weights other than 0."""
    for part, prefix in _PARTS.items():
        for (name, label), weight in tagger.named_weights(part).items():
            yield prefix + name, label, weight


def _shared(tagger: SegmentTagger) -> Iterator[tuple[str, str, float]]:
    """Yield the weights of lengths and pairs of labels: what, label, weight."""
    types, weights = [str(name) for name in tagger.codec.types], tagger.weights
    for y, d in np.argwhere(weights.lengths).tolist():
        yield f"length {d + 1}", types[y], float(weights.lengths[y, d])
    for y in np.flatnonzero(weights.tail).tolist():
        yield "each further position", types[y], float(weights.tail[y])
    for k, y in np.argwhere(weights.edge).tolist():
        yield f"after {types[k]}", types[y], float(weights.edge[k, y])


def dump(
    arguments: argparse.Namespace, tagger: SegmentTagger, header: dict[str, Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield all weights other than 0: attribute, # for "no previous label", label, weight."""
    for name, label, weight in (*_weights(tagger), *_shared(tagger)):
        yield name, "#", label, repr(weight)


def sections(arguments: argparse.Namespace, tagger: SegmentTagger, header: dict[str, Any]) -> list[list[str]]:
    """Return the requested sections as lines of text."""
    shows_top = arguments.top is not None or arguments.label is not None
    asked = shows_top or arguments.transitions or arguments.attribute or arguments.template
    shown = []
    if not asked:
        shown += [_summary_lines(arguments.model, tagger, header), _length_lines(tagger)]
    if arguments.template:
        shown.append(_maker_lines(tagger))
    if arguments.attribute:
        shown.append(_attribute_lines(tagger, arguments.attribute))
    if shows_top or not asked:
        shown.append(_top_lines(tagger, arguments.label, arguments.top or _SHOWN))
    if arguments.transitions or not asked:
        shown.append(
            ["pairs of neighbouring segments", *score_matrix(tagger.codec.types, tagger.weights.edge)]
        )
    return shown


def _summary_lines(path: str, tagger: SegmentTagger, header: dict[str, Any]) -> list[str]:
    rows = [("labels", f"{len(tagger.classes):,}", shorten(", ".join(map(str, tagger.classes)), _WIDTH))]
    types = [name for y, name in enumerate(tagger.codec.types) if y != tagger.codec.background]
    features, n_zero = tagger.potential.features, int((tagger.potential.vector == 0).sum())
    rows += [
        ("segments", f"{len(types):,}", shorten(", ".join(map(str, types)), _WIDTH)),
        ("attributes", f"{len(tagger.vocabulary):,}", "of positions"),
        ("", f"{len(tagger.span_names):,}", "of whole segments"),
        ("features", f"{features.n_features:,}", f"{len(tagger.potential.vector) - n_zero:,} weights not 0"),
        ("lengths", f"1 to {int(features.longest.max())}", "longer ones by a tail" * tagger.has_tail),
    ]
    if isinstance(header.get("objective"), float):
        rows.append(("objective", f"{header['objective']:,.2f}", ""))
    return [f"{path}: semi-Markov CRF{file_size(path)}", *fact_lines(rows)]


def _length_lines(tagger: SegmentTagger) -> list[str]:
    """Return the table of the weights of lengths."""
    types, features, weights = tagger.codec.types, tagger.potential.features, tagger.weights
    K = min(_LENGTHS, weights.lengths.shape[1])
    cells = [
        [f"{weights.lengths[y, d]:.2f}" if d < features.longest[y] else "" for d in range(K)]
        + [f"{weights.tail[y]:.2f}" if features.tails is not None and features.tails[y] else ""]
        for y in range(len(types))
    ]
    heads = [*(str(d + 1) for d in range(K)), "tail"]
    return ["weights of lengths", *matrix("label", [str(name) for name in types], heads, cells)]


def _maker_lines(tagger: SegmentTagger) -> list[str]:
    encoder = tagger.encoder
    if encoder.template is not None:
        return encoder.template.text.rstrip("\n").split("\n")
    return ["no template" if encoder.extraction is None else encoder.extraction.written]


def _attribute_lines(tagger: SegmentTagger, name: str) -> list[str]:
    prefix = name.removesuffix("*") if name.endswith("*") else None
    found = [
        (what, label, weight)
        for what, label, weight in _weights(tagger)
        if what == name or (prefix is not None and what.startswith(prefix))
    ]
    if not found:
        raise InputError(f"the model has no weight of an attribute {name!r} (NAME* finds all with a prefix)")
    return [f"  {weight:+9.4f}  {label:12}  {what}" for what, label, weight in found]


def _top_lines(tagger: SegmentTagger, label: str | None, top: int) -> list[str]:
    found = [one for one in (*_weights(tagger), *_shared(tagger)) if label is None or one[1] == label]
    found.sort(key=lambda one: -abs(one[2]))
    head = "the strongest weights" + ("" if label is None else f" of {label}")
    return [
        head,
        *(f"  {weight:+9.4f}  {name:12}  {shorten(what, _WIDTH)}" for what, name, weight in found[:top]),
    ]


def to_json(arguments: argparse.Namespace, tagger: SegmentTagger, header: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of the model as JSON values, with all digits."""
    types = [str(name) for name in tagger.codec.types]
    features, weights = tagger.potential.features, tagger.weights
    return {
        "model": arguments.model,
        "kind": header["model"],
        "labels": [str(label) for label in tagger.classes],
        "segments": types,
        "runs": tagger.codec.runs,
        "longest": features.longest.tolist(),
        "features": features.n_features,
        "objective": header.get("objective"),
        "lengths": {name: weights.lengths[y, : features.longest[y]].tolist() for y, name in enumerate(types)},
        "tail": None if features.tails is None else dict(zip(types, weights.tail.tolist(), strict=True)),
        "transitions": weights.edge.tolist(),
        "weights": [
            {"attribute": name, "label": label, "weight": weight}
            for name, label, weight in _weights(tagger)
            if (arguments.label is None or label == arguments.label)
        ],
    }
