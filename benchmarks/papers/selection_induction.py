"""Induction on text: conjunctions grown from ten single observations, against other ways to have them.

The atoms are the words and tags of a window of five (CoNLL-2000). Conjunctions of them come from people (the
19 templates), from mining (association rules of two and three items), or from induction (rounds of the
gradient or of the gain that propose conjunctions of useful atoms, as McCallum's in MALLET do). All is
measured on the last tenth of the training file; the test file is not touched.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

from tables import seconds, table
from tasks import data_directory

from crfkit import CRF
from crfkit.data import Encoded, Vocabulary
from crfkit.exceptions import InputWarning
from crfkit.features import Template
from crfkit.io import read_columns
from crfkit.metrics import segment_f1
from crfkit.mining import AssociationMiner
from crfkit.selection import GainSelector, GradientSelector

ATOMS = "".join(f"U{column}{offset}:%x[{offset},{column}]\n" for column in (0, 1) for offset in range(-2, 3))
FIXED = Path(__file__).resolve().parents[1] / "chunking.template"
SIZES = (2000, 10_000, 30_000)
C2 = 0.3
PROPOSALS = 5000  # conjunctions a round


def report(quick: bool, plots: Path | None, verbose: bool) -> str:
    rows_of = read_columns(data_directory("conll2000") / "train.txt")[: 60 if quick else None]
    y = rows_of.column(2)
    X = rows_of.without(2)
    n = len(y) * 9 // 10
    first, last = list(range(n)), list(range(n, len(y)))
    sizes = (100, 200) if quick else SIZES
    warnings.simplefilter("ignore", InputWarning)  # copies among rare attributes

    rows: list[list[str]] = []

    def add(name: str, crf: CRF, conjunctions: int, held: Any, began: float) -> None:
        score = 100 * float(segment_f1(y[n:], crf.predict(held)))
        features = crf.tagger_.index.n_features
        rows.append(
            [name, f"{conjunctions:,}", f"{features:,}", f"{score:.2f}", seconds(time.perf_counter() - began)]
        )

    for name, template, miner in (
        ("atoms alone", Template.parse(f"{ATOMS}B\n"), None),
        ("19 templates, by hand", Template.read(FIXED), None),
        ("atoms and mined rules", Template.parse(f"{ATOMS}B\n"), AssociationMiner()),
        (
            "atoms and mined rules, minimal",
            Template.parse(f"{ATOMS}B\n"),
            AssociationMiner(important=False, minimal=True),
        ),
        (
            "atoms and votes of mined rules",
            Template.parse(f"{ATOMS}B\n"),
            AssociationMiner(use="votes", important=False, loudness=0.1),
        ),
    ):
        began = time.perf_counter()
        crf = CRF(template=template, c2=C2, associations=miner).fit(X.subset(first), y[:n])
        add(name, crf, 0 if miner is None else len(crf.rules_), X.subset(last), began)

    vocabulary = Vocabulary()
    atoms = Template.parse(f"{ATOMS}B\n")
    learn = Encoded(atoms.encode(X.subset(first), vocabulary, grow=True), vocabulary)
    held = Encoded(atoms.encode(X.subset(last), vocabulary, grow=False), vocabulary)
    shared: dict[str, Any] = {
        "batch": 0.5,
        "c2": C2,
        "refit_tol": 1e-4,
        "conjunctions": 100 if quick else PROPOSALS,
        "verbose": verbose,
    }
    for name, selector in (
        ("induced by gradient", GradientSelector(max(sizes), **shared)),
        ("induced by gain", GainSelector(max(sizes), method="approximate", **shared)),
    ):
        began = time.perf_counter()
        selector.fit(learn, y[:n])
        for size in sizes:
            if size <= len(selector.selected_):
                few = selector.selected_[:size]
                crf = CRF(c2=C2, features=few).fit(learn, y[:n])
                took = next(r["seconds"] for r in selector.path_ if r["n_features"] >= size)
                add(name, crf, len(few.conjunctions), held, time.perf_counter() - took)
    return "\n\n".join(
        [
            "### Induction: CoNLL-2000, from ten single observations",
            f"Trained on nine tenths of the training file, F1 on the last tenth (c2 = {C2:g}).",
            table(["conjunctions", "number", "features", "F1 held out", "time"], rows),
        ]
    )
