"""Write one small model of every kind, and its predictions, with the installed version.

    PYTHONPATH=tests/oracles python tests/models/written_before/make.py FOLDER [NAME...]

``tests/models/test_written_before.py`` loads the files and compares the answers. Those beside this file were
written by version 0.1.0, those in the folder ``0.2`` by 0.2.0. They stay as they are: they prove that later
versions read them. A new kind of model gets new files: with names, only these are written, and their answers
are added to those in the folder.
"""

import gzip
import io
import json
import sys
from pathlib import Path

from small_genomes import random_windows

from crfkit import CRF, ConstrainedCRF, GraphCRF, KernelCRF, SemiCRF, TreeCRF, grid
from crfkit.apps.genes import GeneFinder
from crfkit.datasets import addresses, casino, galaxy, snakes
from crfkit.features import Features, Gazetteers, Template, column, token_features
from crfkit.kernels import GraphKernel
from crfkit.mining import AssociationMiner
from crfkit.selection import GradientSelector


def tasks():
    """Yield name, estimator, training data, data to predict, and further keywords of fit."""
    tokens, labels = addresses(14, random_state=4)
    words = [token_features(address, window=1) for address in tokens]
    cells = [[[word, word[:1]] for word in address] for address in tokens]
    rolls, dice = casino(12, 12, random_state=1)
    items = [[{"roll": str(roll), "excess": roll - 3.5} for roll in sequence] for sequence in rolls]
    mixed = [[{"roll": roll, "six": roll == 6, "word": "ab"[roll % 2]} for roll in one] for one in rolls]
    points, arms = galaxy(9, 6, random_state=2)
    template = Template.parse("U00:%x[0,0]\nU01:%x[-1,1]/%x[0,1]\nB01:%x[0,1]\nB\n")
    yield "linear", CRF(c1=0.1, c2=0.01), words, labels, {}
    yield "numbers", CRF(), items, dice, {}
    yield "order2", CRF(order=2, c2=0.1, min_freq=2), items, dice, {}
    yield "template", CRF(template=template), cells, labels, {}
    for use in ("features", "votes", "constraints"):
        miner = AssociationMiner(min_support=4, use=use, lengths=(1, 2), important=False, folds=3)
        yield f"rules_{use}", CRF(associations=miner), words, labels, {}
    chosen = GradientSelector(n_features=40, conjunctions=True).fit(words, labels).selected_
    yield "selected", CRF(features=chosen), words, labels, {}
    yield "constrained", ConstrainedCRF(validation=[[0, 1], [2, 3]]), items, dice, {}
    yield "arrays", CRF(), points, arms, {}
    trees = TreeCRF(n_iterations=4, window=3, n_leaves=4, random_state=0, n_jobs=1)
    yield "trees", trees, mixed, dice, {}
    yield "kernel", KernelCRF(n_cliques=6, gamma=2.0), points, arms, {}
    graph = GraphKernel(n_neighbors=4, n_eigenvectors=5)
    yield "graph", KernelCRF(kernel=None, graph=graph, n_cliques=6), points, arms, {"X_unlabeled": points[6:]}


def tasks_of_features():
    """Yield models that make their attributes themselves, and forms that 0.1 did not have."""
    tokens, labels = addresses(14, random_state=4)
    word, number = column(0, "w"), column(1, "n").number()
    rows = [[[one, str(len(one))] for one in address] for address in tokens]
    yield "tokens", CRF(extractor=token_features, c1=0.1), tokens, labels, {}
    built = Features(
        word.lower().window(-1, 1),
        word.prefix(2) & word.shape(),
        word.lower().member({"street", "st.", "road", "avenue"}, "street"),
        number.standardised(),
        number.binned(3),
        padding=False,
        min_count=2,
    )
    yield "builder", CRF(extractor=built, c1=0.1), rows, labels, {}
    words = [token_features(address, window=1) for address in tokens]
    for algorithm in ("ap", "arow"):
        yield algorithm, CRF(algorithm=algorithm, max_iterations=5), words, labels, {}


def tasks_beyond_chains():
    """Yield models of segments, of a higher order and of graphs."""
    tokens, labels = addresses(14, random_state=4)
    words = [token_features(address, window=1) for address in tokens]
    lists = Gazetteers({"street": ["Main Street", "Oak Avenue"]})
    segments = SemiCRF(extractor=token_features, segment_features=lists, last_attributes=True)
    yield "segments", segments, tokens, labels, {}
    yield "order3", CRF(order=3, c2=0.1), words, labels, {}
    pictures, places = snakes(8, random_state=0)
    rows_of_letters = [["".join(row) for row in picture] for picture in pictures]
    cells = [[place for row in rows for place in row] for rows in places]
    trees = TreeCRF(n_iterations=4, n_leaves=4, random_state=0)
    for name, potential in (
        ("linear", "linear"),
        ("trees", trees),
        ("kernel", KernelCRF(cliques="vertex+edge", n_cliques=8)),
    ):
        model = GraphCRF(potential, training="pseudo-likelihood", max_iterations=20)
        yield f"graphs_{name}", model, rows_of_letters, cells, {}


def as_input(model, X):
    """Return X as an estimator takes it: a graph's rows of letters are a grid."""
    return [grid(rows) for rows in X] if isinstance(model, GraphCRF) else X


def main() -> None:
    """Write NAME.crfkit.gz for every task, and answers.json.gz with inputs, labels and probabilities."""
    folder, wanted = Path(sys.argv[1]), set(sys.argv[2:])
    answers = {}
    if wanted:
        answers = json.loads(gzip.decompress((folder / "answers.json.gz").read_bytes()))

    def keep(name, model, asked, **how):
        buffer = io.BytesIO()
        model.save(buffer, **how)
        pack(f"{name}.crfkit.gz", buffer.getvalue())
        model = type(model).load(buffer.getvalue())  # a compact file rounds the weights
        answers[name] = {
            "class": type(model).__name__,
            "X": [one.tolist() if hasattr(one, "tolist") else one for one in asked],
            "arrays": hasattr(asked[0], "tolist"),
            "labels": model.predict(as_input(model, asked)),
            "marginals": [
                found.tolist() for found in model.predict_marginals(as_input(model, asked), as_arrays=True)
            ],
        }

    def pack(name, content):
        (folder / name).write_bytes(gzip.compress(content, mtime=0))

    for name, estimator, X, y, more in (*tasks(), *tasks_of_features(), *tasks_beyond_chains()):
        if wanted and name not in wanted:
            continue
        model = estimator.fit(as_input(estimator, X[:-2]), y[:-2], **more)
        keep(name, model, X[-2:])
        if name in ("linear", "tokens"):
            keep(f"{name}_compact", model, X[-2:], compact=True)
            for method in ("temperature", "isotonic"):
                keep(f"{name}_{method}", model.calibrate(X[-6:], y[-6:], method), X[-2:])
    if not wanted or "genes" in wanted:
        buffer = io.BytesIO()
        sequences, exons = random_windows(32, seed=1)
        finder = GeneFinder(n_jobs=1, folds=2).fit(sequences[:-2], exons[:-2])
        finder.save(buffer)
        pack("genes.crfkit.gz", buffer.getvalue())
        genes = [[list(gene.exons) for gene in found] for found in finder.predict(sequences[-2:])]
        answers["genes"] = {"X": sequences[-2:], "genes": genes}
    text = json.dumps(answers, separators=(",", ":"), default=lambda number: number.item())
    pack("answers.json.gz", text.encode())


if __name__ == "__main__":
    main()
