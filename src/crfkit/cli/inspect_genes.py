"""``crfkit inspect`` for a gene finder: what it was trained on, and the weights of its measures."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crfkit.cli.tables import fact_lines, file_size

if TYPE_CHECKING:
    from crfkit.apps.genes.finder import GeneFinder

OPTIONS = ()


def dump(
    arguments: argparse.Namespace, finder: GeneFinder, header: dict[str, Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield all weights: name, value."""
    yield from finder.weights_.items()


def sections(arguments: argparse.Namespace, finder: GeneFinder, header: dict[str, Any]) -> list[list[str]]:
    """Return the sections as lines of text."""
    evidence = finder.evidence_
    facts = [
        ("genes", f"{finder.n_genes_:,}", "that it was trained on"),
        ("longest intron", f"{len(evidence.intron) - 1:,}", "bases"),
        ("donor sites", "/".join(evidence.donors), ""),
        ("GC classes", f"{len(evidence.gc_bounds) + 1}", ""),
        ("c2", f"{finder.c2:g}", ""),
    ]
    summary = [f"{arguments.model}: gene finder{file_size(arguments.model)}", *fact_lines(facts)]
    width = max(map(len, finder.weights_))
    weights = [f"  {name:{width}}{value:>8.3f}" for name, value in finder.weights_.items()]
    return [
        summary,
        ["weights (a bias is added, every other weight multiplies the log odds of a measure)", *weights],
    ]


def to_json(arguments: argparse.Namespace, finder: GeneFinder, header: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of the model as JSON values, with all digits."""
    evidence = finder.evidence_
    return {
        "model": arguments.model,
        "kind": header["model"],
        "genes": finder.n_genes_,
        "longest_intron": len(evidence.intron) - 1,
        "donors": list(evidence.donors),
        "gc_classes": len(evidence.gc_bounds) + 1,
        "c2": finder.c2,
        "objective": finder.objective_,
        "weights": finder.weights_,
    }
