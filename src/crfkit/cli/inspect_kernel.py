"""``crfkit inspect`` of a KernelCRF: its kernels, its transitions, and the cliques it compares with."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from crfkit.cli.messages import UsageError
from crfkit.cli.tables import matrix, screen_width, shorten
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.models.kernels.cliques import Clique
    from crfkit.models.kernels.tagger import KernelTagger

_SHOWN = 10  # cliques, unless told


def run(arguments: argparse.Namespace, tagger: KernelTagger, header: dict[str, Any]) -> int:
    """Print what was asked for."""
    for option in ("attribute", "rules", "template"):
        if getattr(arguments, option):
            raise UsageError(f"--{option} goes with linear models, and {arguments.model} has kernels")
    labels = [str(label) for label in tagger.classes]
    if arguments.label is not None and arguments.label not in labels:
        raise InputError(f"the model has no label {arguments.label!r}; it has {', '.join(labels)}")
    cliques = _cliques(header, arguments.label)
    if arguments.dump:
        for clique in cliques:
            for key, value in clique.coefficients.items():
                names = " ".join(map(str, key)) if isinstance(key, tuple) else str(key)
                print(clique.kernel, clique.kind, clique.sequence, clique.position, names, value, sep="\t")
        return 0
    if arguments.json:
        _print_json(arguments, tagger, header, cliques)
        return 0
    shows_top = arguments.top is not None or arguments.label is not None
    overview = not shows_top and not arguments.transitions
    sections = []
    if overview:
        sections.append(_summary_lines(arguments.model, tagger, header))
    if overview or shows_top:
        sections.append(_clique_lines(cliques, arguments.top or _SHOWN))
    if overview or arguments.transitions:
        cells = [[f"{score:.2f}" for score in row] for row in tagger.potential.transitions.tolist()]
        sections.append(list(matrix("from \\ to", labels, labels, cells)))
    print("\n\n".join("\n".join(lines) for lines in sections if lines))
    return 0


def _cliques(header: dict[str, Any], label: str | None) -> list[Clique]:
    """The selected cliques, or those that say something of a label."""
    from crfkit.models.kernels.cliques import Clique

    try:
        found = [Clique.from_json(record) for record in header.get("cliques", [])]
    except (TypeError, ValueError) as error:
        raise InputError(f"the model's list of cliques is malformed: {error}") from error
    if label is None:
        return found

    def names(clique: Clique) -> set[str]:
        return {
            str(part) for key in clique.coefficients for part in (key if isinstance(key, tuple) else (key,))
        }

    return [clique for clique in found if label in names(clique)]


def _summary_lines(path: str, tagger: KernelTagger, header: dict[str, Any]) -> list[str]:
    size = "" if path == "-" else f", {os.path.getsize(path) / 1e6:,.1f} MB"
    lines = [f"{path}: kernel CRF{size}"]
    rows = [("labels", f"{len(tagger.classes):,}", ""), ("columns", f"{tagger.width:,}", "of numbers")]
    for term, words in zip(tagger.potential.terms, header["kernels"], strict=True):
        table = term.vertex if term.vertex is not None else term.edge
        settings = ", ".join(f"{k} {v:g}" for k, v in words.items() if isinstance(v, float) and k == "gamma")
        rows.append(
            ("positions", f"{0 if table is None else len(table):,}", f"{term.kernel.name} {settings}")
        )
    lines += [f"  {name:15}{number:>11}  {words}".rstrip() for name, number, words in rows]
    if isinstance(header.get("risk"), float):
        lines.append(f"  {'risk':15}{header['risk']:>11,.2f}")
    lines.append(f"  {'decoding':15}{tagger.decode:>11}")
    return lines


def _clique_lines(cliques: list[Clique], top: int) -> list[str]:
    if not cliques:
        return []
    limit = screen_width() or 10**6
    lines = [f"the first of {len(cliques):,} cliques, in the order of choice"]
    return lines + [shorten(f"  {clique}", limit) for clique in cliques[:top]]


def _print_json(
    arguments: argparse.Namespace, tagger: KernelTagger, header: dict[str, Any], cliques: list[Clique]
) -> None:
    result: dict[str, Any] = {
        "model": arguments.model,
        "kind": header["model"],
        "labels": [str(label) for label in tagger.classes],
        "columns": tagger.width,
        "kernels": header["kernels"],
        "decode": tagger.decode,
        "boundary_gain": tagger.boundary_gain,
        "risk": header.get("risk"),
        "transitions": tagger.potential.transitions.tolist(),
        "cliques": [clique.to_json() for clique in cliques],
    }
    json.dump(result, sys.stdout, ensure_ascii=False, indent=2)
    print()
