"""Graphs as JSON lines: one graph per line.

    {"nodes": [["red"], ["blue"]], "edges": [[0, 1]], "labels": ["A", "B"]}         the fields of crfkit.Graph
    {"cells": ["rrb", "bbr"], "labels": [[0, 0, 1], [1, 1, 0]]}                      a grid: see crfkit.grid

Optional keys: ``edge_features``, ``edge_types`` and ``directed`` with nodes, ``neighbours`` (4 or 8) with
cells. A label may be null (unknown) or a list (one of these). Other keys are kept and written back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

import numpy as np

from crfkit.data.graphs import Graph, graphs_of, listed_graphs, node_labels
from crfkit.data.grids import grid
from crfkit.data.reading import is_frame, is_sparse, listed
from crfkit.exceptions import InputError
from crfkit.io.jsonl_data import PREDICTED, line_of, objects_of
from crfkit.io.opening import Source, open_input, source_name
from crfkit.io.writing import open_output

_OF_NODES = ("edge_features", "edge_types", "directed")
_OF_CELLS = ("neighbours",)


class GraphRecord(NamedTuple):
    """One graph of a file."""

    graph: Graph
    labels: list[Any] | None  # one per node; None if the line has none
    predicted: list[Any] | None
    content: dict[str, Any]  # the JSON object
    line: int


def read_graphs(source: Source) -> list[GraphRecord]:
    """Read all graphs of a file."""
    return list(stream_graphs(source))


def stream_graphs(source: Source) -> Iterator[GraphRecord]:
    """Yield the graphs of a file."""
    name = source_name(source)
    with open_input(source) as file:
        for line, content in objects_of(file, name):
            try:
                yield _record(content, line)
            except InputError as error:
                raise InputError(f"{name}:{line}: {error}") from error


def write_graphs(path: str | os.PathLike[str] | IO[bytes], graphs: Any, y: Any = None) -> None:
    """Write graphs, also those of networkx, and their labels if there are any, as JSON lines.

    y is as in ``GraphCRF.fit``: graphs whose labels are None are written without.
    """
    given = listed_graphs(graphs)
    label = y if isinstance(y, str) else None
    y = None if y is None else node_labels(given, y)
    if y is not None and len(y) != len(given):
        raise InputError(f"there are {len(given)} graphs but labels of {len(y)}")
    with open_output(path) as file:
        for i, graph in enumerate(graphs_of(given, label)):
            content: dict[str, Any] = {"nodes": graph.nodes, "edges": graph.edges}
            if graph.edge_features is not None:
                content["edge_features"] = graph.edge_features
            if graph.edge_types is not None:
                content["edge_types"] = graph.edge_types
            if not graph.directed:
                content["directed"] = False
            if y is not None and y[i] is not None:
                labels = list(listed(y[i], f"labels of graph {i}", "labels"))
                if len(labels) != graph.n_nodes:
                    raise InputError(f"graph {i} has {graph.n_nodes} nodes but {len(labels)} labels")
                content["labels"] = labels
            try:
                file.write(line_of(_plain(content)))
            except TypeError as error:
                raise InputError(f"graph {i}: {error}; JSON has numbers, texts, lists and objects") from error


def labelled_line(record: GraphRecord, found: Sequence[Any], more: dict[str, Any] | None = None) -> bytes:
    """Return the line of a graph with the ``predicted`` labels, in the shape of its cells or nodes."""
    shaped = {PREDICTED: list(found), **(more or {})}
    if "cells" in record.content:
        width = len(record.content["cells"][0]) if record.content["cells"] else 0
        shaped = {
            key: [row[k : k + width] for k in range(0, len(row), width)] if width else [[]]
            for key, row in shaped.items()
        }
    return line_of({**record.content, **shaped})


def _record(content: Any, line: int) -> GraphRecord:
    if not isinstance(content, dict):
        raise InputError(f"expected an object, got {type(content).__name__}")
    if "cells" in content:
        _refuse(content, "cells", ("nodes", "edges", *_OF_NODES))
        if not isinstance(content["cells"], list):
            raise InputError(f"cells must be a list of rows, got {type(content['cells']).__name__}")
        graph = grid(content["cells"], content.get("neighbours", 4))
    elif "nodes" in content:
        _refuse(content, "nodes", _OF_CELLS)
        if not isinstance(content.get("directed", True), bool):
            raise InputError("directed must be true or false")
        graph = Graph(
            content["nodes"], content.get("edges", []), **{k: content[k] for k in _OF_NODES if k in content}
        )
    else:
        raise InputError(
            f"expected a key 'nodes' or 'cells', got {', '.join(map(repr, content)) or 'no key'}"
        )
    labels, predicted = (_labels(content, key, graph) for key in ("labels", PREDICTED))
    return GraphRecord(graph, labels, predicted, content, line)


def _refuse(content: dict[str, Any], beside: str, keys: Iterable[str]) -> None:
    wrong = next((key for key in keys if key in content), None)
    if wrong is not None:
        raise InputError(f"{wrong!r} does not go with {beside!r}")


def _labels(content: dict[str, Any], key: str, graph: Graph) -> list[Any] | None:
    """Return the labels of the nodes; those of cells are in rows."""
    found = content.get(key)
    if found is None:
        return None
    if not isinstance(found, list):
        raise InputError(f"{key} must be a list, got {type(found).__name__}")
    if "cells" in content:
        if not all(isinstance(row, (list, str)) for row in found):
            raise InputError(f"{key} must have one row per row of cells")
        rows = content["cells"]
        if list(map(len, found)) != list(map(len, rows)):
            raise InputError(
                f"{key} must have the {len(rows)} × {len(rows[0]) if rows else 0} shape of cells"
            )
        found = [label for row in found for label in row]
    if len(found) != graph.n_nodes:
        raise InputError(f"{graph.n_nodes} nodes, but {len(found)} {key}")
    return found


def _plain(value: Any) -> Any:
    """Return features or labels as JSON values."""
    if is_frame(value):
        return [_plain(dict(zip(value.columns, row, strict=True))) for row in value.to_numpy().tolist()]
    if is_sparse(value):
        return value.toarray().tolist()
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist()) if value.dtype == object else value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _plain(own) for name, own in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value), key=str)
    return [_plain(own) for own in value] if isinstance(value, (list, tuple)) else value
