"""Message passing on a grid with two labels: crfkit beside NumPy and, where it is installed, PGMax.

    python benchmarks/graphs.py                # 1000 × 1000 nodes
    python benchmarks/graphs.py --quick        # 30 × 30: does it run?

Rates are messages (two per edge and iteration) per second of CPU on one thread: the CPU time of 2k iterations
minus that of k, so that preparation does not count; each is the least of five rounds, in which the contenders
take turns. The NumPy program knows that the graph is a grid with one table, and works on whole arrays; crfkit
and PGMax get a list of edges. All three are checked to have the same beliefs. The second table counts the
messages that each schedule sends until none changes by more than 10⁻⁶.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from tables import provenance, publish, seconds, table

from crfkit.arrays import FloatArray
from crfkit.data import Topology
from crfkit.inference import Graphs, GraphScores

Runner = Callable[[int], FloatArray]  # iterations → probabilities of label 1 [H, W]


def grid_edges(size: int) -> np.ndarray:
    """The edges of a square grid: downwards, then to the right."""
    at = np.arange(size * size).reshape(size, size)
    ends = ((at[:-1], at[1:]), (at[:, :-1], at[:, 1:]))
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in ends])


def grid_scores(node: FloatArray, coupling: float) -> GraphScores:
    """Scores of a grid: node [H, W, 2], and ``coupling`` for equal neighbours."""
    size = len(node)
    edges = grid_edges(size)
    topology = Topology.of_graphs([size * size], [edges], [np.zeros(len(edges), np.int64)])
    return GraphScores(node.reshape(-1, 2), coupling * np.eye(2)[None], topology)


def by_crfkit(node: FloatArray, coupling: float) -> Runner:
    scores = grid_scores(node, coupling)

    def run(iterations: int) -> FloatArray:
        structure = Graphs("bp", schedule="synchronous", max_iterations=iterations, tolerance=0)
        _, counts = structure.expectations(scores, n_jobs=1)
        return counts.node[:, 1].reshape(node.shape[:2])

    return run


def by_numpy(node: FloatArray, coupling: float) -> Runner:
    odds, f = np.exp(node[..., 1] - node[..., 0]), np.exp(coupling)

    def run(iterations: int) -> FloatArray:
        up, down, left, right = (
            np.ones_like(odds) for _ in range(4)
        )  # message from the node above, below, …
        for _ in range(iterations):
            all_ = odds * up * down * left * right
            sent = [(m + f * all_) / (f * m + all_) for m in (down, up, right, left)]
            up, down, left, right = (np.ones_like(odds) for _ in range(4))
            up[1:], down[:-1], left[:, 1:], right[:, :-1] = (
                sent[0][:-1],
                sent[1][1:],
                sent[2][:, :-1],
                sent[3][:, 1:],
            )
        all_ = odds * up * down * left * right
        return all_ / (1 + all_)

    return run


def by_pgmax(node: FloatArray, coupling: float) -> Runner:
    import jax
    import jax.extend

    if not hasattr(jax.lib, "xla_bridge"):  # PGMax 0.6 asks for it by its old name
        jax.lib.xla_bridge = SimpleNamespace(get_backend=jax.extend.backend.get_backend)
    from pgmax import fgraph, fgroup, infer, vgroup

    size = len(node)
    variables = vgroup.NDVarArray(num_states=2, shape=(size, size))
    graph = fgraph.FactorGraph(variables)
    pairs = [[variables[divmod(int(end), size)] for end in edge] for edge in grid_edges(size)]
    graph.add_factors(
        fgroup.PairwiseFactorGroup(variables_for_factors=pairs, log_potential_matrix=coupling * np.eye(2))
    )
    inferer = infer.build_inferer(graph.bp_state, backend="bp")
    arrays = inferer.init(evidence_updates={variables: node})

    def run(iterations: int) -> FloatArray:
        found = inferer.run(arrays, num_iters=iterations, damping=0.0, temperature=1.0)
        beliefs: Any = inferer.get_beliefs(found)[variables]
        marginals = np.asarray(infer.get_marginals({variables: beliefs})[variables], np.float64)
        return marginals[..., 1]

    return run


def rates(size: int, iterations: int, pgmax_size: int, rounds: int = 5) -> str:
    """A table of messages per second."""
    rng = np.random.default_rng(0)
    node, coupling = rng.normal(size=(size, size, 2)), 0.5
    small = node[:pgmax_size, :pgmax_size].copy()
    runners: dict[str, tuple[Runner, int]] = {
        "crfkit": (by_crfkit(node, coupling), size),
        "NumPy, for grids only": (by_numpy(node, coupling), size),
    }
    if find_spec("pgmax") is not None:
        runners["PGMax (JAX, float32)"] = (by_pgmax(small, coupling), pgmax_size)
    expected = by_numpy(small, coupling)(5)
    if pgmax_size == size:
        np.testing.assert_allclose(runners["crfkit"][0](5), expected, atol=1e-9)
    np.testing.assert_allclose(by_crfkit(small, coupling)(5), expected, atol=1e-9)
    for name in runners:
        if name.startswith("PGMax"):
            np.testing.assert_allclose(runners[name][0](5), expected, atol=1e-4)
    for run, _ in runners.values():
        run(iterations), run(2 * iterations)  # compiled, and in the caches
    # The least time of each length, then the difference: the largest of single differences would pick the
    # rounds in which the short run was disturbed.
    least = {(name, k): np.inf for name in runners for k in (1, 2)}
    for _ in range(rounds):
        for name, (run, _) in runners.items():
            for k in (1, 2):
                began = time.process_time()
                run(k * iterations)
                least[name, k] = min(least[name, k], time.process_time() - began)
    best = {
        name: iterations * 2 * len(grid_edges(n)) / max(least[name, 2] - least[name, 1], 1e-9)
        for name, (_, n) in runners.items()
    }
    rows = [
        [name, f"{n} × {n}", f"{best[name] / 1e6:.0f} million", f"{best[name] / best['crfkit']:.2f}"]
        for name, (_, n) in runners.items()
    ]
    return table(("synchronous belief propagation", "grid", "messages per CPU second", "of crfkit's"), rows)


def schedules(size: int) -> str:
    """A table of messages until convergence."""
    rows = []
    node = np.random.default_rng(0).normal(size=(size, size, 2))
    for coupling in (0.5, 1.0):
        scores = grid_scores(node, coupling)
        alone, least = 0.0, ""
        for schedule in ("synchronous", "sequential", "residual"):
            began = time.process_time()
            found = Graphs("bp", schedule=schedule, max_iterations=500).infer(scores, n_jobs=1)
            spent = time.process_time() - began
            sent = int(found.updates[0]) / (2 * scores.topology.n_edges)
            if schedule == "synchronous":
                alone, least = sent, "" if found.converged[0] else "> "  # it would have sent more
            ended = "yes" if found.converged[0] else "no"
            gain = f"{least}{alone / sent:.2f}×" if found.converged[0] else "–"
            rows.append([f"{coupling:g}", schedule, ended, f"{sent:.1f}", gain, seconds(spent)])
    head = ("coupling", "schedule", "converged", "messages per slot", "fewer than synchronous", "CPU")
    return table(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", default=["rates", "schedules"], help="rates, schedules; default: both"
    )
    parser.add_argument("--quick", action="store_true", help="30 × 30 nodes")
    parser.add_argument("--size", type=int, default=1000, help="nodes per side (default 1000)")
    parser.add_argument("--iterations", type=int, default=20, help="k (default 20)")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file too")
    given = parser.parse_args()
    size = 30 if given.quick else given.size
    parts = []
    if "rates" in given.parts:  # PGMax takes minutes to build a large graph
        parts.append(rates(size, given.iterations, min(size, 300)))
    if "schedules" in given.parts:
        parts += [f"Messages until convergence, {size} × {size} nodes, one thread:", schedules(size)]
    publish("\n\n".join([*parts, provenance("benchmarks/graphs.py")]), given.markdown)


if __name__ == "__main__":
    main()
