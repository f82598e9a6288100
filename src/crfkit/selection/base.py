"""Base classes of the selectors: parameters, data, and the fitted selection."""

from __future__ import annotations

from abc import ABC, abstractmethod
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from crfkit import parameters as rule
from crfkit.arrays import IntArray
from crfkit.conventions import BaseEstimator, check_is_fitted
from crfkit.data.labels import label_lists
from crfkit.data.sequences import Encoded
from crfkit.data.training_data import cut_as
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, InputWarning
from crfkit.features.inputs import encode_input, given_template
from crfkit.features.labelled import read_labelled
from crfkit.features.template import Template
from crfkit.inference import PermittedPairs
from crfkit.io.shown_estimator import ShownEstimator
from crfkit.io.shown_list import ShownList
from crfkit.selection.candidates import Candidates
from crfkit.selection.pool import Pool, PoolSettings, make_pool
from crfkit.selection.search import Held, Search, SearchSettings
from crfkit.selection.selected import Selection
from crfkit.threads import thread_count
from crfkit.upper_floors import elsewhere
from crfkit.warn import warn

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CRITERIA = ("aic", "bic")


class FittedSelection(ShownEstimator, BaseEstimator):
    """An estimator with a fitted ``selected_``: a transformer of sequences."""

    selected_: Selection
    path_: list[dict[str, Any]]
    template: Template | str | None
    n_jobs: int | None
    n_candidates_: int
    fit: Any  # the method of the subclass

    def transform(self, X: Any, *, lengths: Any = None) -> Encoded:
        """Return X with only the selected attributes, for any model of crfkit.

        It does not hold which labels and transitions were selected: to train a CRF with exactly the selected
        features, use ``CRF(features=selector.selected_)``.
        """
        check_is_fitted(self, "selected_")
        if isinstance(X, Encoded):
            return self.selected_.apply(X)
        template = given_template(self.template)
        width = getattr(self, "n_columns_", None)
        if width is None:
            names = dict.fromkeys(self.selected_.attributes)
            names |= dict.fromkeys(a for atoms in self.selected_.conjunctions.values() for a in atoms)
            vocabulary = Vocabulary(names)
        else:  # the columns of an array are known by their number
            vocabulary = Vocabulary()
            vocabulary.add_columns(width)
        sequences = encode_input(X, vocabulary, template, grow=False, lengths=lengths, n_jobs=self.n_jobs)
        return self.selected_.apply(Encoded(sequences, vocabulary))

    def fit_transform(self, X: Any, y: Any, **fit_params: Any) -> Encoded:
        """Select on X and y, and transform X."""
        lengths = fit_params.get("lengths")
        self.fit(X, y, **fit_params)
        return self.transform(X, lengths=cut_as(X, label_lists(y, lengths=lengths), lengths))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the selected attributes."""
        check_is_fitted(self, "selected_")
        return np.array(self.selected_.attributes, dtype=object)

    def _facts(self) -> dict[str, str]:
        if not hasattr(self, "selected_"):
            return {}
        facts = {"features": f"{len(self.selected_):,} selected"}
        if hasattr(self, "n_candidates_"):
            facts["candidates"] = f"{self.n_candidates_:,}"
        because = getattr(self, "stopped_because_", None)
        if because is not None:
            facts["ended"] = str(because)
        return facts

    def plot_path(self, ax: Axes | None = None) -> Axes:
        """Draw dev accuracy (or the objective) against the number of features. Needs matplotlib."""
        check_is_fitted(self, "path_")
        from crfkit.selection.plot import draw_path

        return draw_path(self.path_, ax)


class BaseSelector(FittedSelection, ABC):
    """Base class of the selectors that search for features: parameters and data."""

    _rules: ClassVar[dict[str, rule.Rule]] = {
        "n_features": rule.optional(rule.whole_number(1)),
        "tol": rule.optional(rule.either(rule.number(0), rule.one_of(*CRITERIA))),
        "c2": rule.number(0),
        "candidates": rule.one_of("all", "state", "transitions"),
        "order": rule.one_of(1, 2),
        "min_freq": rule.number(0),
        "all_possible_states": rule.flag(),
        "all_possible_transitions": rule.flag(),
        "refit_tol": rule.number(0),
        "patience": rule.whole_number(1),
        "verbose": rule.either(rule.flag(), rule.whole_number(0)),
    }

    def __init__(
        self,
        n_features: int | None = None,
        *,
        tol: float | str | None = None,
        c2: float = 1.0,
        candidates: str = "all",
        order: int = 1,
        min_freq: float = 0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = False,
        template: Template | str | None = None,
        edge_attributes: Any = None,
        refit_tol: float = 1e-6,
        patience: int = 5,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_features = n_features
        self.tol = tol
        self.c2 = c2
        self.candidates = candidates
        self.order = order
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.template = template
        self.edge_attributes = edge_attributes
        self.refit_tol = refit_tol
        self.patience = patience
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Put all parameters into the signature of a subclass's ``__init__``.

        A subclass names only its own parameters and takes the others as keywords. scikit-learn and ``help``
        look for parameters in the signature.
        """
        super().__init_subclass__(**arguments)
        own = vars(cls).get("__init__")
        if own is None:
            return
        found = {**signature(cls.__mro__[1].__init__).parameters, **signature(own).parameters}  # type: ignore[misc]
        named = [parameter for parameter in found.values() if parameter.kind is not Parameter.VAR_KEYWORD]
        own.__signature__ = Signature(named, return_annotation=None)

    # ---- fitting

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        lengths: Any = None,
        permitted: PermittedPairs | None = None,
    ) -> BaseSelector:
        """Select features on sequences X with labels y, as in ``CRF.fit``.

        ``GradientSelector`` also takes collections of Dask (docs/large-data.md). With ``X_dev``, ``y_dev``,
        the model of each round is evaluated on them: the search ends when the accuracy no longer rises, and
        the features up to the best round are kept. ``permitted`` is as in ``CRF.fit``; decoding of the dev
        set does not use it.
        """
        rule.check_parameters(self, self._rules)
        threads = thread_count(self.n_jobs)
        if (X_dev is None) != (y_dev is None):
            raise InputError("X_dev and y_dev go together: give both or neither")
        reader = elsewhere("candidates", X)
        if reader is None:
            y = label_lists(y, lengths=lengths)
            pool: Candidates = self._pool(X, y, sample_weight, lengths, permitted)
        else:
            pool = reader(self, X, y, sample_weight, lengths, permitted)
        if len(pool.classes) == 1:
            raise InputError(f"y has only one label, {pool.classes[0]!r}, so there is nothing to select")
        if pool.n_candidates == 0:
            raise InputError(
                "there is nothing to select from: no attribute occurs with a label"
                + (f" min_freq={self.min_freq:g} times" if self.min_freq > 1 else "")
                + ", and there are no transitions"
            )
        self._note_columns(X, pool.vocabulary)
        given = self._given(pool)
        available = pool.n_candidates - len(given)
        if available == 0:
            raise InputError(
                f"there is nothing to select from: the data has no candidates={self.candidates!r}"
            )
        if self.n_features is not None and self.n_features > available and not self._n_proposals():
            warn(
                f"n_features={self.n_features} are asked for, but there are {available} candidates",
                InputWarning,
            )
        held = None
        if X_dev is not None:
            try:
                y_dev = label_lists(y_dev)
                cut, template = cut_as(X_dev, y_dev, None), given_template(self.template)
                found = encode_input(X_dev, pool.vocabulary, template, grow=False, lengths=cut)
                held = Held(Encoded(found, pool.vocabulary), y_dev)
            except InputError as error:
                raise InputError(f"in the dev set: {error}") from error
        objective = pool.n_positions * np.log(len(pool.classes))
        settings = SearchSettings(
            n_features=self.n_features,
            least_drop=self._least_drop(objective, pool),
            patience=self.patience,
            c2=float(self.c2),
            refit_tol=float(self.refit_tol),
            n_threads=threads,
            n_jobs=self.n_jobs,
            verbose=bool(self.verbose),
        )
        search = Search(pool, settings, held)
        try:
            search.begin(given)
            self._select(search)
        except KeyboardInterrupt:
            if not search.records:
                raise
            search.interrupted, search.stopped_because = True, "it was interrupted"
        self._keep(search)
        return self

    @abstractmethod
    def _select(self, search: Search) -> None:
        """Choose features round by round, until ``search.step`` returns False."""

    def _n_proposals(self) -> int:
        """Return how many conjunctions a round may add to the pool."""
        return 0

    def _pool(
        self,
        X: Any,
        y: list[Any],
        sample_weight: Any,
        lengths: Any,
        permitted: PermittedPairs | None = None,
    ) -> Pool:
        data = read_labelled(
            X,
            y,
            template=self.template,
            lengths=lengths,
            sample_weight=sample_weight,
            n_jobs=self.n_jobs,
        )
        settings = PoolSettings(
            order=self.order,
            min_freq=self.min_freq,
            all_possible_states=bool(self.all_possible_states),
            all_possible_transitions=bool(self.all_possible_transitions),
            transitions=data.has_transitions,
        )
        return make_pool(
            data.sequences,
            data.labels,
            data.classes,
            data.vocabulary,
            settings,
            data.kinds(self.edge_attributes),
            data.weights,
            permitted,
        )

    def _note_columns(self, X: Any, vocabulary: Vocabulary) -> None:
        """Keep the number of columns if the attributes are those of arrays, for ``transform``."""
        if self.template is None and not isinstance(X, Encoded) and vocabulary.names_columns():
            self.n_columns_ = len(vocabulary)
        elif hasattr(self, "n_columns_"):
            del self.n_columns_

    def _given(self, pool: Candidates) -> IntArray:
        """Return the features that are in the model from the start: all that are not candidates."""
        n_transitions = sum(pool.parts[:2])
        if self.candidates == "state":
            return np.arange(n_transitions)
        if self.candidates == "transitions":
            return np.arange(n_transitions, pool.n_candidates)
        return np.zeros(0, np.int64)

    def _least_drop(self, objective: float, pool: Candidates) -> float:
        """Return by how much a feature must lower the objective; ``objective`` is that of the empty model."""
        tol = self.tol
        if tol is None:
            tol = 0.0 if self.n_features is not None else "bic"
        if tol == "aic":
            return 1.0
        if tol == "bic":
            return 0.5 * float(np.log(pool.n_positions))
        return float(tol) * objective

    def _keep(self, search: Search) -> None:
        features, weights, place = search.outcome()
        made_by = {"selector": type(self).__name__, "parameters": self._plain_parameters()}
        self.selected_ = Selection(features, search.pool.conjunctions, made_by)
        self.weights_ = weights
        self.path_ = ShownList(search.records)
        self.objective_ = float(search.records[place]["objective"])
        self.classes_ = search.pool.classes
        self.n_candidates_ = search.pool.n_candidates
        self.n_duplicates_ = search.pool.n_duplicates
        self.stopped_because_ = search.stopped_because
        if search.interrupted:
            raise KeyboardInterrupt(
                f"the search was interrupted after {len(search.records) - 1} rounds; the features "
                "chosen until then are kept"
            )

    def _plain_parameters(self) -> dict[str, Any]:
        """Return the parameters that JSON can hold."""
        plain = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in self.get_params().items()
        }
        return {name: v for name, v in plain.items() if v is None or isinstance(v, (bool, int, float, str))}
