"""Graphs whose nodes are to be labelled: features of nodes, edges between them, features of edges.

A graph of networkx can take the place of a ``Graph``: attributes of its nodes and edges are features.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.reading import is_frame, is_matrix, is_sparse, listed
from crfkit.data.topology import Topology
from crfkit.exceptions import InputError

TYPE = "type"  # the attribute of networkx's edges that is their type
_QUOTED = re.compile(r"(?<!\w)('[^']*')(?!\w)")  # a name of the user's in a message


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A graph to label.

    Parameters
    ----------
    nodes
        Features of V nodes: an array or sparse matrix [V, D], a data frame, or a list of items as a chain
        takes them: dicts, lists of attributes, or strings (one attribute each).
    edges
        The two nodes of each edge, as numbers from 0 on [E, 2]. Two nodes have at most one edge.
    edge_features
        Features of the edges, in the forms of ``nodes``: E rows or items.
    edge_types
        The type of each edge [E], a name or a number. Every type has weights of its own; None: one type.
    directed
        Whether an edge from a to b differs from one from b to a. If not, the scores of its two labels do not
        depend on their order.

    Examples
    --------
    >>> from crfkit import Graph
    >>> Graph([{"word": "a"}, {"word": "b"}, {"word": "a"}], [[0, 1], [0, 2]], edge_types=["next", "same"])
    <Graph: 3 nodes, 2 edges of the types next, same>
    """

    nodes: Any
    edges: IntArray  # [E, 2]
    edge_features: Any = None
    edge_types: Any = None  # [E] names
    directed: bool = True

    def __post_init__(self) -> None:
        put = object.__setattr__
        if not isinstance(self.directed, (bool, np.bool_)):
            raise InputError(f"directed must be True or False, got {self.directed!r}")
        put(self, "directed", bool(self.directed))
        put(self, "nodes", _rows(self.nodes, "nodes"))
        put(self, "edges", _checked_edges(self.edges, self.n_nodes))
        if self.edge_features is not None:
            put(self, "edge_features", _rows(self.edge_features, "edge_features"))
            self._check_count("edge_features", _count(self.edge_features))
        if self.edge_types is not None:
            names = list(listed(self.edge_types, "edge_types", "names"))
            self._check_count("edge_types", len(names))
            put(self, "edge_types", [_type_name(name, e) for e, name in enumerate(names)])

    def _check_count(self, name: str, found: int) -> None:
        if found != self.n_edges:
            raise InputError(f"{name} must have one entry per edge: got {found} for {self.n_edges} edges")

    @property
    def n_nodes(self) -> int:
        return _count(self.nodes)

    @property
    def n_edges(self) -> int:
        return len(self.edges)

    def __len__(self) -> int:
        return self.n_nodes

    def __repr__(self) -> str:
        names = [] if self.edge_types is None else sorted(set(self.edge_types))
        types = f" of the types {', '.join(names)}" if names else ""
        return f"<Graph: {self.n_nodes:,} nodes, {self.n_edges:,} edges{types}>"

    @classmethod
    def of_networkx(cls, graph: Any, label: str | None = None) -> Graph:
        """Return a graph of networkx: attributes are features, ``type`` of an edge is its type.

        The nodes are in the order of ``graph.nodes``. ``label`` names an attribute of the nodes that is left
        out: their labels.
        """
        if graph.is_multigraph():
            raise InputError(
                "two nodes may have at most one edge: convert the multigraph with networkx.Graph"
            )
        place = {node: i for i, node in enumerate(graph.nodes)}
        nodes = [
            {str(name): value for name, value in own.items() if name != label}
            for _, own in graph.nodes(data=True)
        ]
        edges, features, types = [], [], []
        for a, b, own in graph.edges(data=True):
            edges.append((place[a], place[b]))
            types.append(own.get(TYPE))
            features.append({str(name): value for name, value in own.items() if name != TYPE})
        typed = [name is not None for name in types]
        if any(typed) and not all(typed):
            a, b = list(graph.edges)[typed.index(False)][:2]
            raise InputError(f"edge {a!r}, {b!r} has no {TYPE!r}, but other edges have one: give all or none")
        return cls(
            nodes,
            np.array(edges, np.int64).reshape(-1, 2),
            features if any(features) else None,
            types if any(typed) else None,
            directed=bool(graph.is_directed()),
        )


def listed_graphs(X: Any) -> list[Any]:
    """Return X as a list; raise for a single graph."""
    if isinstance(X, Graph) or is_networkx(X):
        raise InputError("X must be a list of graphs: write a single graph as [graph]")
    return list(listed(X, "X", "graphs"))


def graphs_of(X: Any, label: str | None = None) -> list[Graph]:
    """Return X as a list of graphs; ``label``: the attribute of networkx's nodes that is their label."""
    found: list[Graph] = []
    for i, graph in enumerate(listed_graphs(X)):
        if isinstance(graph, Graph):
            found.append(graph)
        elif is_networkx(graph):
            try:
                found.append(Graph.of_networkx(graph, label))
            except InputError as error:
                raise InputError(f"graph {i}: {error}") from error
        else:
            raise InputError(
                f"graph {i}: expected a crfkit.Graph or a graph of networkx, got {type(graph).__name__}"
            )
    return found


def node_labels(X: Any, y: Any, name: str = "y") -> Any:
    """Return y with the labels of networkx graphs in the order of their nodes.

    y is one list per graph, or for a networkx graph a dict of node to label. Or y is the name of the
    attribute of the nodes that is their label; a node without it has no label.
    """
    if isinstance(y, str):
        found = [_attribute(graph, y, i, name) for i, graph in enumerate(X)]
        if any(found) and all(label is None for labels in found for label in labels):
            raise InputError(f"{name}={y!r} names an attribute that no node has")
        return found
    if not isinstance(y, (list, tuple)) or not isinstance(X, (list, tuple)):
        return y
    if not any(isinstance(labels, Mapping) for labels in y) or len(X) != len(y):
        return y
    return [
        _by_node(graph, labels, i, name) if isinstance(labels, Mapping) and is_networkx(graph) else labels
        for i, (graph, labels) in enumerate(zip(X, y, strict=True))
    ]


def _by_node(graph: Any, labels: Mapping[Any, Any], i: int, name: str) -> list[Any]:
    unknown = next((node for node in labels if node not in graph), None)
    if unknown is not None:
        raise InputError(f"{name}: graph {i} has no node {unknown!r}, but a label is given for it")
    return [labels.get(node) for node in graph.nodes]


def _attribute(graph: Any, label: str, i: int, name: str) -> list[Any]:
    if not is_networkx(graph):
        raise InputError(
            f"{name}={label!r} names an attribute of networkx's nodes, but graph {i} is none of these"
        )
    return [own.get(label) for _, own in graph.nodes(data=True)]


def is_networkx(graph: Any) -> bool:
    """Tell whether an object is a graph of networkx, by its methods; the library is not imported."""
    return all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed", "is_multigraph"))


@contextmanager
def words_of_graphs(position: str = "node") -> Iterator[None]:
    """Let messages about sequences and their positions speak of graphs and their nodes (or edges)."""
    try:
        yield
    except InputError as error:
        words = (
            ("; labels of all positions in one list need lengths=", ""),  # which graphs do not have
            (", or name it in categorical=[…]", ""),
            ("a list of sequences of labels", "a list with the labels of each graph"),
            ("sequence", "graph"),
            ("position", position),
            (" items", f" {position}s"),
        )
        parts = _QUOTED.split(str(error))
        for old, new in words:
            parts[::2] = [part.replace(old, new) for part in parts[::2]]
        error.args = ("".join(parts), *error.args[1:])
        raise


def _count(rows: Any) -> int:
    shape = getattr(rows, "shape", None)  # sparse matrices have no len()
    return int(shape[0]) if shape else len(rows)


def _rows(rows: Any, name: str) -> Any:
    """Return features as a table, or as a list of items; lists of numbers become an array."""
    if is_sparse(rows) or is_frame(rows):
        return rows
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "biufc":
        if rows.ndim == 1 and rows.size == 0:
            return []
        if rows.ndim != 2:
            hint = "; write one number per row as array[:, None]" if rows.ndim == 1 else ""
            raise InputError(f"{name} must be a 2-D array with one row each, got {rows.ndim}-D{hint}")
        return rows
    items = list(listed(rows, name, "items, or an array or a sparse matrix"))
    if items and all(_is_row(item) for item in items):
        widths = sorted(set(map(len, items)))
        if len(widths) > 1:
            raise InputError(f"{name} must have rows of one width, got {widths[0]} and {widths[-1]} numbers")
        return np.array(items, np.float64)
    return items


def _is_row(item: Any) -> bool:
    """Tell whether an item is a row of numbers."""
    if isinstance(item, np.ndarray):
        return item.ndim == 1 and item.dtype.kind in "biuf"
    numbers = (int, float, np.number)
    return isinstance(item, (list, tuple)) and bool(item) and all(isinstance(v, numbers) for v in item)


def items_of(rows: Any) -> Any:
    """Return features for ``data.encode``: a string among the items is a list of one attribute."""
    if is_matrix(rows) or is_frame(rows):
        return rows
    return [[item] if isinstance(item, str) else item for item in rows]


def _type_name(name: Any, edge: int) -> str:
    if isinstance(name, (str, int, np.integer)):
        return str(name)
    raise InputError(f"edge {edge}: its type must be a name or a number, got {type(name).__name__}")


def _checked_edges(edges: Any, n_nodes: int) -> IntArray:
    """Return edges [E, 2]; raise for nodes that do not exist, self-loops and duplicates."""
    if is_sparse(edges):
        raise InputError("edges must be pairs of nodes [E, 2], got a sparse matrix; see numpy.argwhere")
    if is_frame(edges):
        edges = edges.to_numpy()
    elif isinstance(edges, Iterable) and not isinstance(edges, (np.ndarray, Sequence)):
        edges = list(edges)
    try:
        found = Topology.of_graphs([n_nodes], [edges])
    except InputError as error:
        raise InputError(str(error).replace(" of graph 0", "")) from error
    return found.edges.astype(np.int64)
