# ruff: noqa: E402 -- the oracles are not installed: their folders come first
"""A campaign for the truth of numbers: random problems against enumeration, float64 and differences.

    python tests/campaigns/oracle.py --count 100000      # so many lattices, and a share of everything else
    python tests/campaigns/oracle.py --kind graphs segmentations --count 10000    # so many of each of these
    python tests/campaigns/oracle.py --seconds 60
    python tests/campaigns/oracle.py --replay 123456     # one problem again, with the error

Each problem has a seed of its own, which determines its kind and all its numbers. The campaign ends with the
number of problems of each kind, and with status 1 if a result was wrong; the seeds are printed. CRFKIT_ISA
chooses the instruction set.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import numpy as np

TESTS = Path(__file__).resolve().parents[1]
for room in ("oracles", "inference", "objectives", "potentials", "selection", "apps/genes"):
    sys.path.insert(0, str(TESTS / room))

# The tests of these parts hold their oracles; the campaign calls them with other seeds.
import test_contract
import test_extreme_gains
import test_likelihood
import test_segmentations
import test_seven_states
import test_site_segmentations
import test_structures
import test_validation
from graph_checks import check_against_enumeration as check_graphs_against_enumeration
from graphs import Enumerated, random_graphs
from lattices import random_ngrams
from linear_problems import make_problem
from path_table import PathTable, path_table
from segmentations import all_segmentations
from segmentations import ids_of as ids_of_segments
from segmentations import random_scores as random_segments
from segmentations import score as score_of_segments
from site_segmentations import random_sites

from crfkit import _native
from crfkit.exceptions import NoPathError
from crfkit.inference import (
    SEGMENTATIONS,
    Constraints,
    Graphs,
    Lattice,
    constrain,
    entropy,
    expectations,
    expected_counts,
    forced_labels,
    log_partition,
    marginals,
    max_marginal,
    nbest,
    partial_log_likelihood,
    path_score,
    permitted_labels,
    sample,
    viterbi,
)
from crfkit.objectives import linear_likelihood

LARGEST = 1e9  # of a score
SIZES = (1.0, 1.0, 30.0, 400.0, 1e4, 1e6, LARGEST)


def random_scores(
    rng: np.random.Generator, shape: tuple[int, ...], size: float, forbidden: float
) -> np.ndarray:
    """Return scores of this size: spread, tied, or extreme ones that differ by a little."""
    kind = rng.integers(4)
    if kind == 0:
        values = size * rng.uniform(-1, 1, size=shape)
    elif kind == 1:
        values = size * rng.integers(-1, 2, size=shape).astype(float)
    elif kind == 2:
        values = size * rng.integers(-1, 2, size=shape) + rng.normal(size=shape)
    else:
        values = rng.normal(size=shape) * 10.0 ** rng.uniform(-3, np.log10(size) + 0.1, size=shape)
    values = np.clip(values, -LARGEST, LARGEST)
    values[rng.random(shape) < forbidden] = -np.inf
    return values


def random_lattice(rng: np.random.Generator, ngrams: bool) -> Lattice:
    L = int(rng.integers(1, 5))
    lengths = rng.integers(0, {1: 9, 2: 8, 3: 6, 4: 5}[L], size=rng.integers(1, 4))
    total, size = int(lengths.sum()), float(rng.choice(SIZES))
    forbidden = float(rng.choice([0.0, 0.0, 0.1, 0.3]))

    def table(rank: int) -> np.ndarray:
        shape = (L,) * rank
        return random_scores(rng, (total, *shape) if rng.random() < 0.4 else shape, size, forbidden)

    def boundary() -> np.ndarray | None:
        return random_scores(rng, (L,), size, forbidden) if rng.random() < 0.4 else None

    lattice = Lattice(
        random_scores(rng, (total, L), size, forbidden / 2),
        table(2),
        np.concatenate([[0], np.cumsum(lengths)]),
        boundary(),
        boundary(),
        table(3) if rng.random() < 0.4 else None,
    )
    if not ngrams:
        return lattice
    runs = random_scores(rng, (int(rng.integers(20)),), size, forbidden)
    return lattice.changed(edge2=None, ngrams=random_ngrams(rng, L, int(rng.integers(2, 6)), runs))


def random_constraints(rng: np.random.Generator, lattice: Lattice) -> Constraints:
    n, L = lattice.n_positions, lattice.n_labels
    if rng.random() < 0.5:
        return forced_labels(np.where(rng.random(n) < 0.3, rng.integers(L, size=n), -1).astype(np.int32), L)
    return permitted_labels(rng.random((n, L)) < 0.8)


def tolerance(lattice: Lattice) -> float:
    """Return the error that rounding may bring: of probabilities, and of scores."""
    runs = None if lattice.ngrams is None else lattice.ngrams.scores
    tables = (lattice.node, lattice.edge, lattice.edge2, lattice.start, lattice.end, runs)
    size = max((np.abs(t[t > -np.inf]).max(initial=1.0) for t in tables if t is not None), default=1.0)
    longest = np.diff(lattice.offsets).max(initial=1)
    return float(1e-9 + 4e-15 * size * longest)


def close(found: np.ndarray, expected: np.ndarray, tol: float, name: str) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=tol, err_msg=name)


def check_lattice(rng: np.random.Generator, ngrams: bool = False) -> None:
    """Check everything that inference computes."""
    free = random_lattice(rng, ngrams)
    lattice = constrain(free, random_constraints(rng, free)) if rng.random() < 0.4 else free
    oracles = [path_table(lattice, i) for i in range(lattice.n_sequences)]
    if not all(len(oracle.scores) for oracle in oracles):
        for function in (log_partition, marginals, viterbi, entropy):
            try:
                function(lattice)
            except NoPathError:
                continue
            raise AssertionError(f"{function.__name__} finds a path where there is none")
        return
    tol, L = tolerance(lattice), lattice.n_labels
    full = [oracle.log_z for oracle in oracles]
    close(log_partition(lattice), np.array(full), tol, "log Z")
    found = marginals(lattice, edge=True)
    node = np.concatenate([oracle.windows(L, 1) for oracle in oracles])
    pairs = np.concatenate([oracle.windows(L, 2) for oracle in oracles])
    close(found.node, node, tol, "marginals")
    close(marginals(lattice).node, node, tol, "marginals without pairs")
    close(found.edge, pairs, tol, "marginals of pairs")
    close(found.log_z, np.array(full), tol, "log Z of marginals")
    close(entropy(lattice), np.array([oracle.entropy for oracle in oracles]), 40 * tol, "entropy")
    check_counts(rng, lattice, oracles, tol)
    check_paths(rng, lattice, oracles, tol)
    if not lattice.forbids_transitions:
        best = max_marginal(lattice).labels
        close(node[np.arange(len(node)), best], node.max(axis=1), 2 * tol, "most probable labels")
    if lattice is not free:
        plain = [path_table(free, i).log_z for i in range(free.n_sequences)]
        close(log_partition(lattice) - log_partition(free), np.array(full) - plain, 2 * tol, "constraints")


def check_counts(rng: np.random.Generator, lattice: Lattice, oracles: list[PathTable], tol: float) -> None:
    L, weights = lattice.n_labels, rng.uniform(0, 2, size=lattice.n_sequences)
    tol *= 2 * max(1, lattice.n_positions)
    counts, expected = expected_counts(lattice, weights=weights), expectations(lattice, weights=weights)
    for size, name in ((1, "node"), (2, "edge"), (3, "edge2")):
        if size == 3 and lattice.edge2 is None:
            continue
        windows = [w * oracle.windows(L, size) for w, oracle in zip(weights, oracles, strict=True)]
        sums = sum(part.sum(axis=0) for part in windows)
        close(getattr(counts, name), sums, tol, f"expected {name}")
        per_position = np.ndim(getattr(lattice, name)) > size or size == 1
        here = np.concatenate(windows) if per_position else sums
        close(getattr(expected, name), here, tol, f"expectations of {name}")
    if lattice.ngrams is not None:
        sums = np.zeros(len(lattice.ngrams))
        for k, run in enumerate(lattice.ngrams.labels):
            labels = run[run >= 0]
            for w, oracle in zip(weights, oracles, strict=True):
                for t in range(oracle.paths.shape[1] - len(labels) + 1):
                    here = (oracle.paths[:, t : t + len(labels)] == labels).all(axis=1)
                    sums[k] += float(w * oracle.probabilities[here].sum())
        close(expected.ngrams, sums, tol, "expected n-grams")
        close(counts.ngrams, sums, tol, "counted n-grams")


def check_paths(rng: np.random.Generator, lattice: Lattice, oracles: list[PathTable], tol: float) -> None:
    offsets, best, k = lattice.offsets, viterbi(lattice), int(rng.integers(1, 7))
    tops = np.array([float(oracle.scores[0]) for oracle in oracles])
    close(best.score, tops, tol, "best score")
    close(path_score(lattice, best.labels), tops, tol, "score of the best path")
    few = nbest(lattice, k)
    for i, oracle in enumerate(oracles):
        n = min(k, len(oracle.scores))
        scores = few.scores[few.path_offsets[i] : few.path_offsets[i + 1]]
        assert len(scores) == n, f"{len(scores)} paths instead of {n}"
        close(scores, oracle.scores[:n].astype(float), tol, "n best")
        paths = list(map(tuple, few.paths_of(i).tolist()))
        assert len(set(paths)) == n, "a path twice among the n best"
        known = dict(zip(map(tuple, oracle.paths.tolist()), oracle.scores.astype(float), strict=True))
        close(scores, np.array([known[path] for path in paths]), tol, "scores of the n best")
    every = {i: set(map(tuple, oracle.paths.tolist())) for i, oracle in enumerate(oracles)}
    for labels in sample(lattice, 2, random_state=int(rng.integers(2**31))):
        for i in every:
            assert tuple(labels[offsets[i] : offsets[i + 1]].tolist()) in every[i], "a forbidden sample"
    ids, loose = best.labels.copy(), rng.random(lattice.n_positions) < 0.5
    allowed = (ids[:, None] == np.arange(lattice.n_labels)) | loose[:, None]
    expected = []
    for i, oracle in enumerate(oracles):
        here = allowed[offsets[i] : offsets[i + 1]]
        fits = here[np.arange(len(here)), oracle.paths].all(axis=1)
        expected.append(float(np.log(oracle.probabilities[fits].sum())))
    close(partial_log_likelihood(lattice, allowed), np.array(expected), 2 * tol, "partial labels")


def check_samples(rng: np.random.Generator) -> None:
    """Check the frequencies of samples, within seven standard deviations."""
    n, L, T = 4000, int(rng.integers(2, 4)), int(rng.integers(1, 4))
    kind, seed = rng.choice(["chain", "n-grams", "segments", "graph"]), int(rng.integers(2**31))
    if kind == "segments":
        segments = random_segments(seed, [T], L, 2)
        ways = list(all_segmentations(T, L))
        scores = np.array([score_of_segments(segments, 0, way) for way in ways])
        labellings = np.array([ids_of_segments(way, L) for way in ways])
        drawn = SEGMENTATIONS.sample(segments, n, random_state=seed)
    elif kind == "graph":
        graph = random_graphs(seed, [T + 1], L, "dense")
        every = Enumerated(graph)
        labellings, scores = every.labellings, every.scores
        drawn = Graphs("exact").sample(graph, n, random_state=seed)
    else:
        lattice = Lattice(
            2 * rng.normal(size=(T, L)), 2 * rng.normal(size=(L, L)), [0, T], edge2=rng.normal(size=(L, L, L))
        )
        if kind == "n-grams":
            lattice = lattice.changed(edge2=None, ngrams=random_ngrams(rng, L, 3, 2 * rng.normal(size=6)))
        oracle = path_table(lattice, 0)
        labellings, scores = oracle.paths, oracle.scores.astype(float)
        drawn = sample(lattice, n, random_state=seed)
    seen = Counter(map(tuple, drawn.tolist()))
    probabilities = np.exp(scores - np.logaddexp.reduce(scores))
    for path, p in zip(labellings.tolist(), probabilities.tolist(), strict=True):
        assert abs(seen[tuple(path)] - n * p) <= 7 * np.sqrt(n * p) + 10, (path, p, seen[tuple(path)])


def check_gradient(rng: np.random.Generator) -> None:
    """Check value, gradient and diagonal of the fused objective."""
    lengths = rng.integers(0, 5, size=rng.integers(1, 5)).tolist()
    problem = make_problem(
        int(rng.integers(2**31)),
        int(rng.integers(1, 4)),
        [max(1, lengths[0]), *lengths[1:]],
        order=int(rng.integers(1, 4)),
        scale=float(rng.choice([0.3, 1.0, 4.0])),
        real=bool(rng.random() < 0.5),
        partial=str(rng.choice(test_likelihood.KINDS)),
        weighted=bool(rng.random() < 0.3),
        costs=bool(rng.random() < 0.3),
        copies=int(rng.integers(0, 3)),
        pairs=bool(rng.random() < 0.4),
    )
    value = 0.0
    free, bound = problem.lattices()
    for i, weight in enumerate(problem.sequence_weights):
        value += weight * (path_table(free, i).log_z - path_table(bound, i).log_z)
    test_likelihood.check(problem, value=value, n_threads=int(rng.integers(1, 3)))
    function, w = problem.general(), problem.linear_weights()
    direction = rng.normal(size=len(w)) * (w != 0)
    slope = (function(w + 1e-5 * direction).value - function(w - 1e-5 * direction).value) / 2e-5
    close(function(w).gradient @ direction, slope, 1e-5 * test_likelihood.score_size(problem), "differences")


def check_gains(rng: np.random.Generator) -> None:
    L, T = int(rng.integers(2, 4)), int(rng.integers(2, 6))
    scale = float(rng.choice([1.0, 30.0, 300.0, 3000.0]))
    lattice = Lattice(scale * rng.normal(size=(T, L)), scale * rng.normal(size=(L, L)), [0, T])
    targets = rng.integers(L, size=T).astype(np.int32)
    test_extreme_gains.compare(lattice, targets, np.flatnonzero(rng.random(T) < 0.6))


def check_validation(rng: np.random.Generator) -> None:
    kind = str(rng.choice(["first order", "permitted", *test_validation.KINDS]))
    seed, margin = int(rng.integers(10**6)), float(rng.choice([0.0, 0.7]))
    spans = test_validation.SPANS if rng.random() < 0.5 else test_validation.WHOLE
    test_validation.test_values_are_those_of_all_labellings.hypothesis.inner_test(
        seed, int(rng.integers(1, 4)), kind, 1, spans, margin
    )


def check_potential(rng: np.random.Generator) -> None:
    """Check the gradients of potentials, over every structure, by finite differences."""
    cases = [(name, k) for name, k in test_contract.CASES if not name.startswith("linear")]
    name, k = cases[rng.integers(len(cases))]
    test_contract.test_the_gradient_of_the_likelihood_by_finite_differences(
        test_contract.case_of(name, k, rng),
        str(rng.choice(list(test_contract.LABELS))),
        rng.uniform(0.1, 2, size=4),
        rng.uniform(0.3, 3, size=3),
    )


def check_graphs(rng: np.random.Generator) -> None:
    """Check all methods on graphs with and without cycles."""
    n_labels = int(rng.integers(1, 4))
    check_graphs_against_enumeration(
        int(rng.integers(2**31)),
        rng.integers(0, 6, size=rng.integers(1, 4)).tolist(),
        n_labels,
        str(rng.choice(["forest", "cycles", "dense", "none"], p=[0.3, 0.35, 0.3, 0.05])),
        float(rng.choice([0.3, 1.0, 3.0, 30.0, 400.0, 1e5, 1e7])),
        float(rng.choice([0.0, 0.0, 0.1, 0.3])),
        bool(rng.random() < 0.4),
        attracting=n_labels == 2 and bool(rng.random() < 0.5),
    )


def check_segmentations(rng: np.random.Generator) -> None:
    """Check both recursions: lengths are states, or sums over windows."""
    x = random_segments(
        int(rng.integers(2**31)),
        [int(rng.integers(1, 6))],
        int(rng.integers(1, 4)),
        int(rng.integers(1, 6)),
        scale=random_scale(rng),
        forbidden=float(rng.choice([0.0, 0.2, 0.5])),
        parts=bool(rng.random() < 0.7),
    )
    if rng.random() < 0.5:  # a tail too steep for states; no segment is long enough to have it
        x = test_segmentations.with_more_lengths(x.changed(tail=None), 6)
        x = x.changed(tail=np.full(x.n_labels, 31.0))
    test_segmentations.check_against_enumeration(x)


def check_sites(rng: np.random.Generator) -> None:
    """Check segments between sites."""
    x = random_sites(
        int(rng.integers(2**31)),
        [int(rng.integers(1, 8))],
        int(rng.integers(1, 4)),
        longest=int(rng.integers(1, 6)),
        scale=random_scale(rng),
        tail=float(rng.random()),
    )
    test_site_segmentations.check_against_enumeration(x)


def random_scale(rng: np.random.Generator) -> float:
    return float(rng.choice([0.1, 1.0, 3.0, 400.0, 1e5]))


def check_genes(rng: np.random.Generator) -> None:
    seed = int(rng.integers(10**6))
    if rng.random() < 0.5:
        test_structures.test_one_strand_against_enumeration(seed)
    else:
        folded = test_seven_states.test_scores_of_transitions_stay_those_of_the_paths
        folded.hypothesis.inner_test(seed, bool(rng.random() < 0.5))


# kind: its check, and how many problems of it there are per thousand
KINDS: dict[str, tuple[Callable[[np.random.Generator], None], int]] = {
    "lattices": (check_lattice, 830),
    "label n-grams": (partial(check_lattice, ngrams=True), 110),
    "samples": (check_samples, 10),
    "gradients of linear models": (check_gradient, 40),
    "gains of candidates": (check_gains, 5),
    "validation sets": (check_validation, 5),
    "other potentials": (check_potential, 5),
    "genes": (check_genes, 5),
    "graphs": (check_graphs, 110),
    "segmentations": (check_segmentations, 110),
    "segments between sites": (check_sites, 110),
}


def kind_of(rng: np.random.Generator) -> str:
    shares = np.array([share for _, share in KINDS.values()], float)
    return str(rng.choice(list(KINDS), p=shares / shares.sum()))


def run(seed: int, kinds: Collection[str]) -> tuple[str, str | None]:
    """Return the kind of the problem of this seed, and what was wrong. Other kinds are skipped."""
    rng = np.random.default_rng(seed)
    kind = kind_of(rng)
    if kind not in kinds:
        return kind, None
    try:
        KINDS[kind][0](rng)
    except Exception:
        return kind, traceback.format_exc()
    return kind, None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10**9, help="number of lattices, or of each --kind")
    parser.add_argument("--kind", nargs="+", choices=KINDS, metavar="KIND", help="only these kinds")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument(
        "--seed", type=int, default=0, help="of the first problem; the others count up from it"
    )
    parser.add_argument("--replay", type=int, help="check this problem alone and show what is wrong")
    given = parser.parse_args()
    linear_likelihood._POSITIONS_PER_THREAD = 1  # as many threads as a problem asks for
    if given.replay is not None:
        kind, wrong = run(given.replay, KINDS)
        print(f"{kind}: {wrong or 'right'}")
        return 1 if wrong else 0
    if given.count == 10**9 and given.seconds == float("inf"):
        given.seconds = 60.0
    began, seed, found = time.monotonic(), given.seed, []
    counts: Counter[str] = Counter()
    counted = given.kind or ["lattices"]
    while min(counts[kind] for kind in counted) < given.count and time.monotonic() - began < given.seconds:
        kind, wrong = run(seed, given.kind or KINDS)
        counts[kind] += 1
        if wrong:
            found.append(seed)
            print(f"FOUND at --replay {seed} ({kind}): {wrong.strip().splitlines()[-1][:300]}", flush=True)
        seed += 1
    print(
        f"instruction set {_native.isa()}, seeds {given.seed} to {seed - 1}, {time.monotonic() - began:.0f} s"
    )
    for kind in given.kind or KINDS:
        print(f"{counts[kind]:8d} {kind}")
    print(f"{len(found):8d} wrong" + (f": --replay {' '.join(map(str, found[:20]))}" if found else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
