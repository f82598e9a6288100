"""Stability selection: features that are often chosen on parts of the data.

Meinshausen and Bühlmann, "Stability selection", Journal of the Royal Statistical Society B 72 (2010).
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from crfkit import parameters as rule
from crfkit.conventions import check_is_fitted, clone
from crfkit.data.labels import label_lists
from crfkit.data.sequences import Encoded
from crfkit.exceptions import InputError, InputWarning
from crfkit.features.labelled import read_labelled
from crfkit.io.shown_list import ShownList
from crfkit.selection.base import BaseSelector, FittedSelection
from crfkit.selection.selected import Feature, Selection
from crfkit.upper_floors import elsewhere

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEWEST = 4  # sequences


class StabilitySelector(FittedSelection):
    """A selector that runs another one on many random parts of the sequences and keeps features chosen often.

    Parameters
    ----------
    selector
        Any selector of this package; set its ``n_features`` or ``tol``.
    n_resamples
        The number of parts.
    share
        The share of the sequences in each part; they are drawn without replacement.
    threshold
        Keep features that were chosen in at least this share of the parts.
    random_state
        Seed of the parts.
    verbose
        One line per part on stderr.

    Attributes
    ----------
    selected_ : Selection
        The most stable first; a feature's score is the share of parts that chose it.
    frequencies_ : dict
        {(attribute, labels): share} of all features ever chosen, the most frequent first.
    path_ : list of dict
        One record per part: round, features, n_features, objective, seconds.
    """

    _rules: ClassVar[dict[str, rule.Rule]] = {
        "n_resamples": rule.whole_number(1),
        "share": ("a number between 0 and 1", lambda v: isinstance(v, float) and 0 < v < 1),
        "threshold": (
            "a number above 0 and up to 1",
            lambda v: isinstance(v, (int, float)) and 0 < float(v) <= 1,
        ),
        "random_state": rule.optional(rule.whole_number(0)),
        "verbose": rule.either(rule.flag(), rule.whole_number(0)),
    }

    def __init__(
        self,
        selector: BaseSelector,
        *,
        n_resamples: int = 30,
        share: float = 0.5,
        threshold: float = 0.6,
        random_state: int | None = 0,
        verbose: bool | int = False,
    ) -> None:
        self.selector = selector
        self.n_resamples = n_resamples
        self.share = share
        self.threshold = threshold
        self.random_state = random_state
        self.verbose = verbose

    @property
    def template(self) -> Any:  # type: ignore[override]
        return self.selector.template

    @property
    def n_jobs(self) -> int | None:  # type: ignore[override]
        return self.selector.n_jobs

    def fit(self, X: Any, y: Any = None, *, lengths: Any = None) -> StabilitySelector:
        """Select on parts of the sequences X with labels y."""
        rule.check_parameters(self, self._rules)
        if not isinstance(self.selector, BaseSelector):
            raise InputError(f"selector must be one of crfkit.selection, got {type(self.selector).__name__}")
        if elsewhere("candidates", X) is not None:
            raise InputError(
                "StabilitySelector draws sequences at random, which a Dask collection cannot give: fit it in "
                "memory, or use GradientSelector"
            )
        y = label_lists(y)
        data = read_labelled(X, y, template=self.template, lengths=lengths, n_jobs=self.n_jobs)
        n, vocabulary = data.sequences.n_sequences, data.vocabulary
        if n < _FEWEST:
            raise InputError(
                f"stability selection needs at least {_FEWEST} sequences, but there are {n}: split them"
            )
        if not isinstance(X, Encoded) and vocabulary.names_columns():
            self.n_columns_ = len(vocabulary)
        rng = np.random.default_rng(self.random_state)
        size = min(n - 1, max(2, round(self.share * n)))
        self.path_: list[dict[str, Any]] = ShownList()
        ranks: dict[Any, list[int]] = {}
        conjunctions: dict[str, tuple[str, ...]] = {}
        began = time.perf_counter()
        for part in range(1, self.n_resamples + 1):
            chosen = np.sort(rng.permutation(n)[:size])
            with warnings.catch_warnings():  # about copies and few candidates in a part
                warnings.simplefilter("ignore", InputWarning)
                found = clone(self.selector).fit(
                    Encoded(data.sequences.subset(chosen), vocabulary), [y[i] for i in chosen]
                )
            for rank, feature in enumerate(found.selected_):
                ranks.setdefault(feature.key, []).append(rank)
            conjunctions |= found.selected_.conjunctions
            self.path_.append(
                {
                    "round": part,
                    "features": list(found.selected_),
                    "n_features": len(found.selected_),
                    "objective": found.objective_,
                    "seconds": time.perf_counter() - began,
                }
            )
            if self.verbose:
                sys.stderr.write(
                    f"part {part:4} of {self.n_resamples}  {len(found.selected_):6,} features  "
                    f"{self.path_[-1]['seconds']:.1f} s\n"
                )
                sys.stderr.flush()
        order = sorted(ranks, key=lambda key: (-len(ranks[key]), float(np.mean(ranks[key])), str(key)))
        self.frequencies_ = {key: len(ranks[key]) / self.n_resamples for key in order}
        stable = [key for key in order if self.frequencies_[key] >= self.threshold]
        if not stable:
            raise InputError(
                f"no feature was chosen in {self.threshold:g} of the parts (the most frequent one in "
                f"{max(self.frequencies_.values(), default=0):g}): lower threshold, or select more per part"
            )
        made_by = {
            "selector": type(self).__name__,
            "of": type(self.selector).__name__,
            "n_resamples": self.n_resamples,
            "share": self.share,
            "threshold": self.threshold,
        }
        self.selected_ = Selection(
            [Feature(key[0], key[1], 1, self.frequencies_[key]) for key in stable], conjunctions, made_by
        )
        return self

    def plot_path(self, ax: Axes | None = None) -> Axes:
        """Draw how often each feature was chosen, and the threshold. Needs matplotlib."""
        check_is_fitted(self, "frequencies_")
        from crfkit.selection.plot import draw_frequencies

        return draw_frequencies(list(self.frequencies_.values()), self.threshold, ax)
