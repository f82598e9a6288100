"""Genes: 7 states, words of up to 7 bases, four sets of genes, selections carried from one set to another.

The 541 genes are dealt into four sets, each with three quarters to train on and one to test on, as the paper
has its four sets of fly genes. Candidates are the transitions and the emissions of words: those of 6 bases,
7 · 4096 = 28,672, those of 1 to 6, or those of 1 to 7. All models are trained under the grammar, with c2 = 1,
and decoded under it. Nothing is chosen by test genes.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from gene_windows import Window, percentages, read_windows, score
from tables import seconds, table

from crfkit.apps.genes.gene_scores import LEVELS, GeneScores
from crfkit.apps.genes.seven_states import (
    SevenStateGenes,
    codes_of,
    donors_of,
    encode_words,
    is_permitted,
    label_strings,
    permitted,
)
from crfkit.exceptions import ConvergenceWarning, InputWarning
from crfkit.selection import GradientSelector, MutualInformationSelector, Selection

SHARES = (0.01, 0.03)
C2 = 1.0
POOLS = {
    "words of 6 bases": (6,),
    "words of 1 to 6": (1, 2, 3, 4, 5, 6),
    "words of 1 to 7": (1, 2, 3, 4, 5, 6, 7),
}
CARRIED = "words of 1 to 6"  # the pool whose selections are carried from one set to another

# Published, tables 3 (a) to (d): Sn and Sp of the full model and the mean over the three transferred subsets.
PAPER = {
    "gene": ((42.7, 51.7), (46.5, 47.7), (46.1, 51.5), (46.0, 52.9)),
    "exon": ((77.7, 72.3), (76.8, 65.1), (78.9, 70.5), (78.2, 70.3)),
    "nucleotide": ((96.9, 88.9), (96.5, 85.7), (97.8, 87.8), (97.5, 86.4)),
}


class GeneSet:
    """One of the four sets: genes to train on that the grammar permits, and genes to test on."""

    def __init__(self, windows: list[Window]) -> None:
        cut = len(windows) * 3 // 4
        train, self.test = windows[:cut], windows[cut:]
        codes = codes_of([w.sequence for w in train])
        self.donors = donors_of(codes, [w.exons for w in train])
        legal = [
            is_permitted(c, np.array([*map("012Nabc".index, w.labels)], np.int32), self.donors)
            for c, w in zip(codes, train, strict=True)
        ]
        self.train = [w for w, kept in zip(train, legal, strict=True) if kept]

    def select(self, selector: Any, lengths: tuple[int, ...]) -> tuple[Any, float]:
        """The selector, fitted on the training genes with words of these lengths; and its seconds."""
        sequences = [w.sequence for w in self.train]
        y = [label_strings(w.exons, len(w.sequence)) for w in self.train]
        began = time.perf_counter()
        X = encode_words(sequences, lengths=lengths)
        selector.fit(X, y, permitted=permitted(sequences, self.donors))
        return selector, time.perf_counter() - began


def evaluate(part: GeneSet, lengths: tuple[int, ...], features: Selection | None = None) -> GeneScores:
    """A model with these features, or all of these words, trained and tested on one set."""
    settings: dict[str, Any] = {} if features is None else {"features": features}
    model = SevenStateGenes(c2=C2, tol=1e-3, n_jobs=1, lengths=lengths, **settings)
    model.fit([w.sequence for w in part.train], [w.exons for w in part.train])
    return score(part.test, model.predict([w.sequence for w in part.test]))


def cells(scores: list[GeneScores]) -> list[str]:
    """Sn / Sp at each level, pooled over sets by their mean."""
    return [f"{sn:.1f} / {sp:.1f}" for sn, sp in np.nan_to_num(percentages(scores))]


class Pool:
    """What one pool of candidates comes to on all sets."""

    def __init__(self, name: str, sets: list[GeneSet], quick: bool, say: Callable[[str], None]) -> None:
        self.name, self.lengths, self._sets, self._say = name, POOLS[name], sets, say
        self.n_candidates = (
            7 * sum(4**n for n in self.lengths) + 15
        )  # emissions, and the transitions of a gene
        self.sizes = (20, 40) if quick else tuple(int(share * self.n_candidates) for share in SHARES)
        self.full: list[GeneScores] = []
        self.chosen: dict[str, list[Selection]] = {"gradient": [], "mutual information": []}
        self.results: dict[tuple[str, int], list[GeneScores]] = {}
        self._spent: dict[str, list[float]] = {"gradient": [], "mutual information": []}
        for k, part in enumerate(sets):
            self._measure(k, part)

    def _measure(self, k: int, part: GeneSet) -> None:
        self.full.append(evaluate(part, self.lengths))
        about = f"{self.name}, set {k}"
        self._say(f"{about}: {len(part.train)} + {len(part.test)} genes, full {cells(self.full[-1:])}")
        most = self.sizes[-1]
        settings: dict[str, Any] = {"c2": C2, "all_possible_states": True, "refit_tol": 1e-3, "n_jobs": 1}
        for name, selector in (
            ("gradient", GradientSelector(most, batch=0.5, **settings)),
            ("mutual information", MutualInformationSelector(most, batch=most, **settings)),
        ):
            fitted, needed = part.select(selector, self.lengths)
            self.chosen[name].append(fitted.selected_)
            self._spent[name].append(needed)
            for n in self.sizes if name == "gradient" else self.sizes[-1:]:
                found = evaluate(part, self.lengths, fitted.selected_[:n])
                self.results.setdefault((name, n), []).append(found)
                self._say(f"{about}: {name}, {n} features: {cells([found])}")

    def rows(self) -> list[list[str]]:
        """The means over the sets, of all features and of the selections."""
        rows = [[self.name, "all", f"{self.n_candidates:,}", *cells(self.full), ""]]
        for (name, n), scores in self.results.items():
            share = f"{n:,} ({100 * n / self.n_candidates:.0f} %)"
            rows.append([self.name, name, share, *cells(scores), seconds(np.mean(self._spent[name]))])
        return rows

    def transfer(self) -> tuple[list[list[str]], list[GeneScores]]:
        """Selections of the gradient, chosen on one set, trained and tested on another."""
        rows, all_carried = [], []
        for i, part in enumerate(self._sets):
            rows.append([f"set {i}", "all features", *cells([self.full[i]])])
            rows.append(
                [f"set {i}", "its own selection", *cells([self.results["gradient", self.sizes[-1]][i]])]
            )
            for j, selection in enumerate(self.chosen["gradient"]):
                if j != i:
                    all_carried.append(evaluate(part, self.lengths, selection))
                    rows.append([f"set {i}", f"from set {j}", *cells(all_carried[-1:])])
                    self._say(" ".join(rows[-1]))
        return rows, all_carried


def report(quick: bool, plots: Path | None, verbose: bool) -> str:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", InputWarning)
    windows = read_windows()
    order = np.random.default_rng(0).permutation(len(windows))
    if quick:
        order = order[:48]
    sets = [GeneSet([windows[i] for i in order[k::4]]) for k in range(4)][: 2 if quick else 4]

    def say(words: str) -> None:
        if verbose:
            sys.stderr.write(f"{words}\n")
            sys.stderr.flush()

    pools = {name: Pool(name, sets, quick, say) for name in POOLS}
    carried = pools[CARRIED]
    transfer, all_carried = carried.transfer()
    rows = [row for pool in pools.values() for row in pool.rows()]
    rows.append([CARRIED, "gradient, on another set", f"{carried.sizes[-1]:,}", *cells(all_carried), ""])
    parts = [
        "### Genes",
        f"Four sets of genes, {len(sets[0].train)} to train on and {len(sets[0].test)} to test on in each; "
        "Sn / Sp in percent, means over the sets.",
        table(["candidates", "method", "features", *LEVELS, "selection"], rows),
        f"Selections of {carried.sizes[-1]:,} features by the gradient ({CARRIED}), carried over: chosen on "
        "one set, trained and tested on another.",
        table(["trained and tested on", "features", *LEVELS], transfer),
        "The paper's full model (33,003 features with other evidence, fly): "
        + "; ".join(f"{level} " + ", ".join(f"{sn} / {sp}" for sn, sp in PAPER[level]) for level in PAPER)
        + ".",
        "The first picks of the gradient after the transitions, set by set:",
        table(
            ["set", "features"],
            [
                [str(k), ", ".join(str(f) for f in selection if f.attribute is not None)[:220] + " …"]
                for k, selection in enumerate(carried.chosen["gradient"])
            ],
        ),
    ]
    if plots is not None:
        _draw(carried, plots / "genes.png")
    return "\n\n".join(parts)


def _draw(pool: Pool, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    for ax, level in zip(axes, (0, 1, 3), strict=True):
        for i, name in enumerate(("gradient", "mutual information")):
            for j, (kind, style) in enumerate((("Sn", "-"), ("Sp", "--"))):
                known = [n for n in pool.sizes if (name, n) in pool.results]
                heights = [np.nan_to_num(percentages(pool.results[name, n]))[level][j] for n in known]
                ax.plot(known, heights, style, marker="o", color=f"C{i}", label=f"{name}, {kind}")
        for j, style in enumerate(("-", "--")):
            height = float(np.nan_to_num(percentages(pool.full))[level][j])
            ax.axhline(
                height, color="0.4", linestyle=style, linewidth=1, label=f"all, {'Sn' if j == 0 else 'Sp'}"
            )
        ax.set_title(LEVELS[level])
        ax.set_xlabel("features")
        ax.set_ylabel("%")
    axes[0].legend(fontsize=7)
    figure.savefig(path, dpi=120)
    plt.close(figure)
