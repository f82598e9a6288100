"""Threads: shared taggers, training and inference on several threads, and interruption while threads run.

Every call's answer is compared with the answer of a single thread. The script ends with status 1 if any
differs. `make tsan` runs it with a core that was built with ThreadSanitizer, which then reports every race in
the core itself (status 66).

    python tests/campaigns/tsan.py --calls 1000000 --threads 16
"""

from __future__ import annotations

import argparse
import importlib.util
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "oracles"))

Call = Callable[[int], Any]  # the answer to input i


def load_native(path: str) -> None:
    """Put another build of the core in the place of the installed one."""
    import crfkit

    spec = importlib.util.spec_from_file_location("crfkit._native", path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path} is no extension module")
    module = importlib.util.module_from_spec(spec)
    sys.modules["crfkit._native"] = module
    crfkit._native = module  # type: ignore[attr-defined]
    spec.loader.exec_module(module)


# ---- shared taggers


def taggers(folder: Path, n: int) -> dict[str, tuple[Call, int]]:
    """Return calls of fitted models, and how many inputs each has."""
    from small_genomes import random_windows

    from crfkit import CRF, GraphCRF, KernelCRF, SemiCRF, Tagger, TreeCRF
    from crfkit.apps.genes import GeneFinder
    from crfkit.compat import pycrfsuite
    from crfkit.compat.sklearn_crfsuite import CRF as Stand
    from crfkit.datasets import addresses, gaussian_mixtures
    from crfkit.features import token_features
    from crfkit.mining import AssociationMiner

    tokens, labels = addresses(n, random_state=0)
    X = [token_features(sentence) for sentence in tokens]
    crf = CRF(max_iterations=20).fit(X, labels)
    crf.save_crfsuite(folder / "model.crfsuite")
    loaded = CRF.load(_saved(crf, folder / "model.crfkit"))
    second = CRF(order=2, max_iterations=5).fit(X, labels)
    third = CRF(order=3, max_iterations=5).fit(X, labels)
    segments = SemiCRF(max_iterations=5).fit(X, labels)
    words = [[[token] for token in sentence] for sentence in tokens]
    rules = CRF(template="U00:%x[0,0]\nU01:%x[-1,0]\nB", associations=AssociationMiner(), max_iterations=5)
    rules.fit(words, labels)
    stand = Stand(max_iterations=5).fit(X, labels)
    shim = pycrfsuite.Tagger()
    shim.open(str(folder / "model.crfsuite"))
    names = shim.labels()
    own_features = CRF(extractor=token_features, max_iterations=5).fit(tokens, labels)
    light, from_tokens = (
        Tagger(folder / "model.crfkit"),
        Tagger(_saved(own_features, folder / "tokens.crfkit")),
    )

    def marginal(i: int) -> list[float]:
        shim.set(X[i])
        return [shim.marginal(names[0], t) for t in range(len(X[i]))]

    def probability(i: int) -> float:
        return shim.probability(shim.tag(X[i]))

    points, states = gaussian_mixtures(30, 8, random_state=0)
    trees = TreeCRF(n_iterations=5, min_samples_leaf=1).fit(points, states)
    kernel = KernelCRF(n_cliques=10).fit(points, states)
    windows, exons = random_windows(12, seed=1)
    genes = GeneFinder(folds=2, n_jobs=1, max_iterations=3).fit(windows, exons)
    pictures, places = small_grids(12)
    graphs = {
        method: GraphCRF(inference=method, max_iterations=5).fit(pictures, places)
        for method in ("exact", "trw", "bp", "mean-field")
    }
    for model in (crf, loaded, second, third, segments, rules, trees, kernel, *graphs.values()):
        model.set_params(n_jobs=1)

    def analysis(i: int) -> Any:
        found = light.analyse(X[i])
        return found.labels(), found.probability(), found.marginals(), found.nbest(2), found.segments()

    def every_answer(model: CRF | SemiCRF) -> Call:
        return lambda i: (
            model.predict([X[i]]),
            model.predict_nbest([X[i]], 3),
            model.predict_marginals([X[i]], as_arrays=True)[0].tolist(),
        )

    def on_graphs(model: GraphCRF) -> Call:
        return lambda i: model.predict_marginals(pictures[i : i + 1], as_arrays=True)[0].tolist()

    return {
        "Tagger": (lambda i: light.tag(X[i]), n),
        "Tagger of tokens": (lambda i: from_tokens.tag_tokens(tokens[i]), n),
        "Tagger, probabilities": (analysis, n),
        "shim tag": (lambda i: shim.tag(X[i]), n),
        "shim set, marginal": (marginal, n),
        "shim tag, probability": (probability, n),
        "sklearn shim": (lambda i: stand.predict_single(X[i]), n),
        "CRF": (lambda i: crf.predict([X[i]]), n),
        "CRF from a file": (lambda i: loaded.predict([X[i]]), n),
        "CRF marginals": (lambda i: crf.predict_marginals([X[i]], as_arrays=True)[0].tolist(), n),
        "CRF n-best": (lambda i: crf.predict_nbest([X[i]], 3), n),
        "second order": (lambda i: second.predict([X[i]]), n),
        "order 3": (every_answer(third), n),
        "segments": (every_answer(segments), n),
        **{f"graphs, {method}": (on_graphs(model), len(pictures)) for method, model in graphs.items()},
        "rules, template": (lambda i: rules.predict([words[i]]), n),
        "trees": (lambda i: trees.predict([points[i]]), len(points)),
        "kernel": (lambda i: kernel.predict([points[i]]), len(points)),
        "genes": (lambda i: genes.predict([windows[i]]), len(windows)),
    }


def small_grids(n: int) -> tuple[list[Any], list[Any]]:
    """Return generated pictures with snakes, as graphs, and their labels."""
    from crfkit import grid
    from crfkit.datasets import snakes

    cells, labels = snakes(n, random_state=0)
    pictures = [grid(["".join(row) for row in one]) for one in cells]
    return pictures, [(one.ravel() > 0).tolist() for one in labels]


def _saved(crf: Any, path: Path) -> Path:
    crf.save(path)
    return path


_SHARES = {
    "shim tag": 60,
    "Tagger": 60,
    "Tagger of tokens": 60,
    "genes": 1,
    "kernel": 1,
    "trees": 1,
    "segments": 2,
    "graphs, exact": 1,
    "graphs, trw": 1,
    "graphs, bp": 1,
    "graphs, mean-field": 1,
}  # of the calls; 8 for the others


def share(calls: dict[str, tuple[Call, int]], n_calls: int, n_threads: int, seconds: float) -> list[str]:
    """Let threads call the same models; return the wrong answers, and print how many calls there were."""
    weights = {name: _SHARES.get(name, 8) for name in calls}
    total = sum(weights.values())
    findings: list[str] = []
    for name, (call, n) in calls.items():
        expected = [call(i) for i in range(n)]
        each = max(1, n_calls * weights[name] // total // n_threads)
        until = time.perf_counter() + seconds * weights[name] / total
        done, wrong = [0] * n_threads, [0] * n_threads

        def work(
            k: int,
            call: Call = call,
            n: int = n,
            expected: list[Any] = expected,
            each: int = each,
            until: float = until,
            done: list[int] = done,
            wrong: list[int] = wrong,
        ) -> None:
            random = np.random.default_rng(k)
            for i in random.integers(n, size=each).tolist():
                try:
                    wrong[k] += call(i) != expected[i]
                except Exception:  # an answer of another thread, of another length
                    wrong[k] += 1
                done[k] += 1
                if done[k] % 64 == 0 and time.perf_counter() > until:
                    return

        began = time.perf_counter()
        _run([threading.Thread(target=work, args=(k,)) for k in range(n_threads)])
        spent = time.perf_counter() - began
        print(f"{name:22} {sum(done):9,} calls {sum(wrong):6,} wrong {spent:7.1f} s", flush=True)
        if sum(wrong):
            findings.append(f"{name}: {sum(wrong)} of {sum(done)} answers are wrong")
    return findings


def _run(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# ---- training and inference on several threads


def trainings(n: int) -> dict[str, Callable[[], Any]]:
    """Return trainings on four threads, each with a result that must not depend on timing."""
    from mined_data import random_data
    from small_genomes import random_windows

    from crfkit import CRF, ConstrainedCRF, GraphCRF, KernelCRF, SemiCRF, TreeCRF
    from crfkit.apps.genes import GeneFinder
    from crfkit.datasets import addresses, gaussian_mixtures
    from crfkit.features import token_features
    from crfkit.mining import AssociationMiner
    from crfkit.selection import GainSelector

    tokens, labels = addresses(n, random_state=1)
    X = [token_features(sentence) for sentence in tokens]
    points, states = gaussian_mixtures(60, 20, random_state=0)
    windows, exons = random_windows(12, seed=1)
    rows, answers = random_data(1)
    pictures, places = small_grids(12)
    few = {"n_jobs": 4, "max_iterations": 4}

    def on_graphs(**options: Any) -> float:
        return GraphCRF(ends=True, **few, **options).fit(pictures, places).objective_

    return {
        "linear": lambda: CRF(**few).fit(X, labels).objective_,
        "sgd": lambda: CRF(algorithm="sgd", random_state=0, **few).fit(X, labels).objective_,
        "second order, L1": lambda: CRF(order=2, c1=0.1, **few).fit(X, labels).objective_,
        "order 3": lambda: CRF(order=3, **few).fit(X, labels).objective_,
        "segments": lambda: SemiCRF(**few).fit(X, labels).objective_,
        "graphs": lambda: on_graphs(training="tree-reweighted"),
        "graphs, pseudo": lambda: on_graphs(training="pseudo-likelihood"),
        "graphs, trees": lambda: on_graphs(potential=TreeCRF(n_iterations=3, n_jobs=4)),
        "constrained": lambda: ConstrainedCRF(max_outer=2, **few).fit(X, labels).objective_,
        "trees": lambda: TreeCRF(n_iterations=4, n_jobs=4).fit(points, states).objective_,
        "kernel": lambda: KernelCRF(n_cliques=6, n_jobs=4).fit(points, states).risk_,
        "genes": lambda: GeneFinder(folds=2, **few).fit(windows, exons).objective_,
        "mining": lambda: (
            AssociationMiner(n_jobs=4, important=False).fit(rows, answers).rules_.items.tolist()
        ),
        "selection": lambda: GainSelector(n_features=3, n_jobs=4).fit(X[:40], labels[:40]).objective_,
    }


def inferences() -> dict[str, Callable[[], Any]]:
    """Return sums, best labellings and samples on four threads; the results are bytes."""
    from graphs import random_graphs
    from lattices import big_lattice, random_ngrams
    from segmentations import random_scores

    from crfkit.data import Topology
    from crfkit.inference import CHAIN, SEGMENTATIONS, Graphs, GraphScores, nbest

    rng = np.random.default_rng(0)
    chains = big_lattice([9, 0, 30, 12] * 8, 4)
    chains = chains.changed(ngrams=random_ngrams(rng, 4, 4, rng.normal(size=30)))
    few = random_scores(1, [20, 0, 7, 40] * 6, 3, 5)  # lengths are states
    many = random_scores(1, [20, 0, 7, 40] * 6, 3, 300)  # lengths are windows
    graphs = random_graphs(2, [30, 0, 5, 12] * 6, 3, "cycles", shared=True)
    n = 100_000  # nodes on a path: threads share them
    path = Topology.of_graphs([n], [np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)])
    large = GraphScores(rng.normal(size=(n, 2)), rng.normal(size=(n - 1, 2, 2)), path)
    synchronous = Graphs("bp", schedule="synchronous", max_iterations=3)

    def answers(structure: Any, scores: Any, best: Callable[..., Any]) -> bytes:
        log_z, counts = structure.expectations(scores, n_jobs=4)
        tables = [table.tobytes() for table in counts if table is not None]
        drawn = structure.sample(scores, 3, random_state=0)
        ids = structure.best(scores, n_jobs=4)
        return b"".join([log_z.tobytes(), *tables, drawn.tobytes(), ids.tobytes(), best(scores).tobytes()])

    def best_few(scores: Any) -> Any:
        return SEGMENTATIONS.nbest(scores, 4, n_jobs=4).scores

    runs = {
        "n-grams": lambda: answers(CHAIN, chains, lambda scores: nbest(scores, 4, n_jobs=4).scores),
        "short segments": lambda: answers(SEGMENTATIONS, few, best_few),
        "long segments": lambda: answers(SEGMENTATIONS, many, best_few),
        "one large graph": lambda: synchronous.infer(large, n_jobs=4).node.tobytes(),
    }
    for method in ("auto", "exact", "trw", "bp", "mean-field"):
        structure = Graphs(method, max_iterations=20)
        runs[f"sums, {method}"] = lambda structure=structure: answers(
            structure, graphs, lambda scores: structure.decode(scores, n_jobs=4).bound
        )
    return runs


def repeat(runs: dict[str, Callable[[], Any]], n_threads: int) -> list[str]:
    """Run each twice alone, then in threads side by side; all results must be the same."""
    findings = []
    for name, run in runs.items():
        results: list[Any] = [run(), run()]

        def work(run: Callable[[], Any] = run, results: list[Any] = results) -> None:
            results.append(run())

        _run([threading.Thread(target=work) for _ in range(n_threads)])
        different = sum(result != results[0] for result in results)
        print(f"{name:22} {len(results):9,} results   {different:2,} different", flush=True)
        if different or len(results) != 2 + n_threads:
            findings.append(f"{name}: {different} of {len(results)} results differ")
    return findings


# ---- interruption


def interrupt(n_times: int) -> list[str]:
    """Interrupt native loops on four threads at random moments, while other threads compute."""
    from crfkit.inference import Lattice, sample, viterbi

    random = np.random.default_rng(0)
    long = Lattice(random.normal(size=(300, 100)), random.normal(size=(100, 100)), np.arange(0, 301, 10))
    short = Lattice(random.normal(size=(50, 9)), random.normal(size=(9, 9)), np.array([0, 20, 50]))
    expected = viterbi(short, n_jobs=2).labels.tolist()
    over, wrong = threading.Event(), []

    def others() -> None:
        while not over.is_set():
            if viterbi(short, n_jobs=2).labels.tolist() != expected:
                wrong.append(None)

    threads = [threading.Thread(target=others) for _ in range(4)]
    for thread in threads:
        thread.start()
    stopped, latest = 0, 0.0
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(n_times):
            after = float(random.uniform(0.02, 0.3))
            began = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, after)
            try:
                sample(long, 10**5, n_jobs=4)
            except KeyboardInterrupt:
                stopped += 1
                latest = max(latest, time.perf_counter() - began - after)
    finally:
        signal.signal(signal.SIGALRM, before)
        over.set()
        for thread in threads:
            thread.join()
    print(
        f"{'interruption':22} {stopped:9,} of {n_times} stopped, the latest after {latest:.2f} s", flush=True
    )
    findings = [f"interruption: {len(wrong)} wrong labels in other threads"] if wrong else []
    if stopped != n_times:
        findings.append(f"interruption: {n_times - stopped} of {n_times} calls were not stopped")
    return findings


def main(argv: list[str] | None = None) -> int:
    """Run the campaign; return 1 if there is a finding."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--calls", type=int, default=100_000, help="calls of shared taggers, in all")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=1e9, help="time for the shared taggers, in all")
    parser.add_argument("--interruptions", type=int, default=10)
    parser.add_argument("--native", help="another build of crfkit._native")
    arguments = parser.parse_args(argv)
    if arguments.native is not None:
        load_native(arguments.native)
    before, began = sys.getswitchinterval(), time.perf_counter()
    sys.setswitchinterval(1e-6)
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few iterations: nothing converges
            findings = share(taggers(Path(folder), 60), arguments.calls, arguments.threads, arguments.seconds)
            findings += repeat(trainings(60), 3)
            findings += repeat(inferences(), 3)
        findings += interrupt(arguments.interruptions)
    finally:
        sys.setswitchinterval(before)
    for finding in findings:
        print(f"FOUND {finding}")
    print(f"{len(findings)} findings in {time.perf_counter() - began:.0f} s")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
