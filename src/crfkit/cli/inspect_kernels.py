"""``crfkit inspect`` for a KernelCRF: its kernels, transitions and selected cliques."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crfkit.cli.tables import fact_lines, file_size, score_matrix, screen_width, shorten

if TYPE_CHECKING:
    from crfkit.models.kernels.cliques import Clique
    from crfkit.models.kernels.tagger import KernelTagger

OPTIONS = ()
_SHOWN = 10  # cliques, unless --top is given


def dump(
    arguments: argparse.Namespace, tagger: KernelTagger, header: dict[str, Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield all coefficients: kernel, kind of clique, sequence, position, labels, value."""
    for clique in _cliques(header, arguments.label):
        for key, value in clique.coefficients.items():
            names = " ".join(map(str, key)) if isinstance(key, tuple) else str(key)
            yield clique.kernel, clique.kind, clique.sequence, clique.position, names, value


def sections(arguments: argparse.Namespace, tagger: KernelTagger, header: dict[str, Any]) -> list[list[str]]:
    """Return the requested sections as lines of text."""
    cliques = _cliques(header, arguments.label)
    shows_top = arguments.top is not None or arguments.label is not None
    overview = not shows_top and not arguments.transitions
    shown = []
    if overview:
        shown.append(_summary_lines(arguments.model, tagger, header))
    if overview or shows_top:
        shown.append(_clique_lines(cliques, arguments.top or _SHOWN))
    if overview or arguments.transitions:
        shown.append(score_matrix(tagger.classes, tagger.potential.transitions))
    return shown


def _cliques(header: dict[str, Any], label: str | None) -> list[Clique]:
    """Return the selected cliques, or those with a coefficient for the label."""
    from crfkit.models.kernels.cliques import cliques_of

    found = cliques_of(header)
    if label is None:
        return found

    def names(clique: Clique) -> set[str]:
        return {
            str(part) for key in clique.coefficients for part in (key if isinstance(key, tuple) else (key,))
        }

    return [clique for clique in found if label in names(clique)]


def _summary_lines(path: str, tagger: KernelTagger, header: dict[str, Any]) -> list[str]:
    lines = [f"{path}: kernel CRF{file_size(path)}"]
    rows = [("labels", f"{len(tagger.classes):,}", "")]
    if tagger.cells is not None:
        names = ", ".join(column.name for column in tagger.cells.schema.columns)
        rows.append(("columns", f"{tagger.n_columns:,}", shorten(names, 60)))
    if tagger.width is not None:
        rows.append(("numbers", f"{tagger.width:,}", "per row"))
    for term, words in zip(tagger.potential.terms, header["kernels"], strict=True):
        table = term.vertex if term.vertex is not None else term.edge
        settings = ", ".join(f"{k} {v:g}" for k, v in words.items() if isinstance(v, float) and k == "gamma")
        rows.append(
            ("positions", f"{0 if table is None else len(table):,}", f"{term.kernel.name} {settings}")
        )
    lines += fact_lines(rows)
    if isinstance(header.get("reg"), float):
        lines.append(f"  {'reg':15}{header['reg']:>11.4g}")
    if isinstance(header.get("risk"), float):
        lines.append(f"  {'risk':15}{header['risk']:>11,.2f}")
    lines.append(f"  {'decoding':15}{tagger.decoding:>11}")
    return lines


def _clique_lines(cliques: list[Clique], top: int) -> list[str]:
    if not cliques:
        return []
    limit = screen_width() or 10**6
    lines = [f"the first of {len(cliques):,} cliques, in the order of selection"]
    return lines + [shorten(f"  {clique}", limit) for clique in cliques[:top]]


def to_json(arguments: argparse.Namespace, tagger: KernelTagger, header: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of the model as JSON values, with all digits."""
    return {
        "model": arguments.model,
        "kind": header["model"],
        "labels": [str(label) for label in tagger.classes],
        "columns": tagger.n_columns,
        "numbers": tagger.width,
        "reg": header.get("reg"),
        "kernels": header["kernels"],
        "decode": tagger.decoding,
        "boundary_gain": tagger.boundary_gain,
        "risk": header.get("risk"),
        "transitions": tagger.potential.transitions.tolist(),
        "cliques": [clique.to_json() for clique in _cliques(header, arguments.label)],
    }
