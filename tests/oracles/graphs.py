"""The oracle of graphs: enumerates all labellings in plain Python, and random graphs with scores to try."""

from itertools import combinations, product

import numpy as np

from crfkit.data.topology import Topology
from crfkit.inference import GraphScores


def random_edges(rng, n_nodes, kind):
    """Return the edges [E, 2] of a random graph: "forest", "cycles" (sparse), "dense" or "none"."""
    pairs = [list(pair) for pair in combinations(range(n_nodes), 2)]
    rng.shuffle(pairs)
    if kind == "none" or not pairs:
        chosen = []
    elif kind == "forest":
        chosen = [[int(rng.integers(v)), v] for v in range(1, n_nodes) if rng.random() < 0.8]
    elif kind == "cycles":
        chosen = pairs[: max(1, min(len(pairs), n_nodes + int(rng.integers(-1, 3))))]
    else:
        chosen = [pair for pair in pairs if rng.random() < 0.9]
    edges = np.array(chosen, np.int64).reshape(-1, 2)
    turned = rng.random(len(edges)) < 0.5
    edges[turned] = edges[turned, ::-1]
    return edges


def random_graphs(seed, sizes, n_labels, kind, *, scale=1.0, forbidden=0.0, shared=False):
    """Return random scores of graphs with these numbers of nodes; ``shared``: tables by kind of edge."""
    rng = np.random.default_rng(seed)
    edges = [random_edges(rng, size, kind) for size in sizes]
    kinds = [rng.integers(2, size=len(part)) for part in edges] if shared else None
    topology = Topology.of_graphs(sizes, edges, kinds)

    def table(*shape):
        values = rng.normal(scale=scale, size=shape)
        values[rng.random(shape) < forbidden] = -np.inf
        return values

    K = 2 if shared else topology.n_edges
    return GraphScores(table(topology.n_positions, n_labels), table(K, n_labels, n_labels), topology)


class Enumerated:
    """All labellings of one graph of a batch, their scores, log Z, and marginals of nodes and edges."""

    def __init__(self, x: GraphScores, graph: int = 0):
        first, last = (int(n) for n in x.offsets[graph : graph + 2])
        edges = range(*x.topology.edge_offsets[graph : graph + 2])
        L = x.n_labels
        self.labellings = np.array(list(product(range(L), repeat=last - first)), np.int32)
        self.scores = np.zeros(len(self.labellings))
        for place in range(first, last):
            self.scores += x.node[place, self.labellings[:, place - first]]
        ends = []
        for e in edges:
            table = x.edge[e if x.topology.kinds is None else x.topology.kinds[e]]
            a, b = (self.labellings[:, int(end) - first] for end in x.topology.edges[e])
            ends.append((a, b))
            self.scores += table[a, b]
        self.best = self.scores.max()
        self.possible = self.best > -np.inf
        if not self.possible:
            return
        p = np.exp(self.scores - self.best)
        self.log_z = float(self.best + np.log(p.sum()))
        self.p = p / p.sum()
        self.node = np.stack([self.p @ (self.labellings == y) for y in range(L)], axis=1)
        self.edge = np.zeros((len(edges), L, L))
        for table, (a, b) in zip(self.edge, ends, strict=True):
            np.add.at(table, (a, b), self.p)
