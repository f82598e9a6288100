"""TreeCRF: a conditional random field whose potentials are boosted regression trees, as an estimator.

Dietterich, Ashenfelter and Bulatov, "Training conditional random fields via gradient tree boosting" (ICML
2004).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy.typing as npt

from crfkit import parameters as rule
from crfkit.arrays import FloatArray
from crfkit.data.labelled_table import LabelledTable
from crfkit.data.labels import decode_labels
from crfkit.exceptions import InputError
from crfkit.inference import Constraints
from crfkit.inference.expected_gain import decoded
from crfkit.io.shown_list import ShownList
from crfkit.models.checkpoint import Checkpoint, continuing
from crfkit.models.fitted_model import Piece, Prepared
from crfkit.models.plots import draw_shares
from crfkit.models.rare_labels import warn_of_unpredicted
from crfkit.models.sequence_labeller import SequenceLabeller
from crfkit.models.trees.boosting import with_costs
from crfkit.models.trees.steps import Callback, Member, boosting_settings, tree_identity, warn_of_no_trees
from crfkit.models.trees.tagger import Conjunction, Stage, TreeTagger
from crfkit.models.trees.training import TreeTraining
from crfkit.models.trees.validation import read_dev
from crfkit.objectives.functional_gradient import minus_log_likelihood
from crfkit.potentials.forest import Forest
from crfkit.potentials.tree import TreePotential
from crfkit.progress import Progress
from crfkit.threads import thread_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from crfkit.inference.lattice import ScoredSequences
    from crfkit.models.explanation import Reasons


class TreeCRF(SequenceLabeller[TreeTagger]):
    """Conditional random field with potentials that are sums of regression trees.

    Takes mixed input: text is categories, numbers and bools are numbers, None and NaN are missing. Trees find
    conjunctions within a window automatically. LightGBM grows them (``crfkit[trees]``); a fitted model does
    not need it.

    Parameters
    ----------
    window
        Number of positions that a tree sees: an odd number with the position itself in the middle, or
        (before, after).
    n_leaves
        Maximum number of leaves per tree.
    n_iterations
        Number of rounds; each round adds one tree per label.
    learning_rate
        Factor of every tree. The paper uses 1, for ``newton=False``; Newton's leaves need less.
    order
        1: a label depends on the one before it; 2: on the two before it (factored potentials).
    pseudo_iterations
        Number of first rounds that use the pseudo-likelihood.
    subsample, colsample
        Share of the rows that a round sees, and of the columns that a tree sees.
    trim
        Leave out the rows that together have only this share of all errors (influence trimming).
    potentials
        "joint": F^k(y[t-1], window), trees that also use the previous label (as in the paper). "factored":
        trees see only the window, and a table scores label pairs (for many labels). "auto": factored from 5
        labels on.
    newton
        True: leaf values of a Newton step, the sum of errors over the sum of p (1 - p). False: the mean
        error, as in the paper, with ``learning_rate=1``.
    line_search
        Choose the step of each round by the likelihood.
    decode
        Decoding of ``predict``: "marginal", the most probable label of each position; "viterbi", the most
        probable label sequence.
    early_stopping
        Choose the number of rounds, at most ``n_iterations``, by cross-validation with this many folds. (If
        ``fit`` gets a dev set, it is used instead.)
    committee
        Average the potentials of this many models, each trained without one of as many folds: slower, but
        better if data is scarce.
    patience
        Stop after this many rounds without a better accuracy on held-out data.
    min_samples_leaf, l2
        Minimum number of training rows per leaf, and the L2 penalty on leaf values.
    transition_c2, transition_every
        Factored: the L2 penalty on the tables of transitions, and the number of rounds between their fits.
    by
        A column of categories (its name or place). Each category gets separate trees for the labels seen with
        it. This is faster and often better with many labels, if the column nearly determines the label, as a
        letter does its sound. Needs factored potentials.
    class_weight
        As in :class:`crfkit.CRF`: the cost of errors at a label; "balanced", or {label: weight}.
    categorical
        Columns of categories that look like numbers: names, or places.
    lightgbm_params
        Other parameters of LightGBM, such as {"max_bin": 63}.
    callbacks
        Functions that are called with each round's record (a dict); if one returns True, training ends.
    n_jobs, random_state, verbose
        As in :class:`crfkit.CRF`. The same data, seed and thread count give the same model.

    Attributes
    ----------
    classes_ : list
        The labels, sorted.
    objective_ : float
        Minus the log-likelihood of the training data after training.
    history_ : list of dict
        One record per round: iteration, objective (minus the log-likelihood before the round), step,
        seconds, and dev_accuracy.
    n_iter_ : int
        Number of rounds in the model (for a committee: in its last member).
    cv_accuracy_ : list of float
        With ``early_stopping``: accuracy on the held-out folds after each round.
    feature_names_, feature_importances_ : list of str, array
        The features of the trees (column[place in the window]), and their shares of the total gain.
    tagger_ : crfkit.models.trees.tagger.TreeTagger
        The fitted model.

    Examples
    --------
    >>> from crfkit import TreeCRF
    >>> X = [[{"word": "the", "length": 3}, {"word": "cat", "length": 3}], [{"word": "a", "length": None}]]
    >>> y = [["DET", "NOUN"], ["DET"]]
    >>> TreeCRF(n_iterations=5, min_samples_leaf=1).fit(X, y).predict(X)
    [['DET', 'NOUN'], ['DET']]
    """

    _tagger = TreeTagger
    _rules: ClassVar[dict[str, rule.Rule]] = {
        "window": rule.window(),
        "n_leaves": rule.whole_number(2),
        "n_iterations": rule.whole_number(1),
        "learning_rate": rule.positive(),
        "order": rule.one_of(1, 2),
        "pseudo_iterations": rule.whole_number(0),
        "subsample": ("a share, above 0 and at most 1", lambda v: rule.number(0)[1](v) and 0 < v <= 1),
        "colsample": ("a share, above 0 and at most 1", lambda v: rule.number(0)[1](v) and 0 < v <= 1),
        "trim": ("a share, from 0 to less than 1", lambda v: rule.number(0)[1](v) and v < 1),
        "potentials": rule.one_of("auto", "joint", "factored"),
        "newton": rule.flag(),
        "line_search": rule.flag(),
        "decode": rule.one_of("marginal", "viterbi"),
        "early_stopping": rule.optional(rule.whole_number(2)),
        "committee": rule.optional(rule.whole_number(2)),
        "patience": rule.whole_number(1),
        "min_samples_leaf": rule.whole_number(1),
        "l2": rule.number(0),
        "transition_c2": rule.number(0),
        "transition_every": rule.whole_number(1),
        "by": rule.optional(rule.name_or_place()),
        "categorical": rule.optional(rule.names_or_places()),
        "class_weight": rule.optional(rule.either(rule.one_of("balanced"), rule.mapping())),
        "lightgbm_params": rule.optional(rule.mapping()),
        "callbacks": rule.optional(rule.functions()),
        "random_state": rule.optional(rule.whole_number(0)),
        "verbose": rule.verbosity(),
    }

    def __init__(
        self,
        window: int | tuple[int, int] = 3,
        n_leaves: int = 8,
        n_iterations: int = 100,
        learning_rate: float = 0.1,
        order: int = 1,
        pseudo_iterations: int = 3,
        subsample: float = 1.0,
        colsample: float = 1.0,
        trim: float = 0.0,
        potentials: str = "auto",
        newton: bool = True,
        line_search: bool = False,
        decode: str = "marginal",
        early_stopping: int | None = None,
        committee: int | None = None,
        patience: int = 10,
        min_samples_leaf: int = 5,
        l2: float = 0.1,
        transition_c2: float = 1.0,
        transition_every: int = 1,
        by: str | int | None = None,
        categorical: Collection[str | int] | None = None,
        class_weight: dict[Any, float] | str | None = None,
        lightgbm_params: dict[str, Any] | None = None,
        callbacks: Sequence[Callback] | None = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: bool | int | str = "auto",
    ) -> None:
        self.window = window
        self.n_leaves = n_leaves
        self.n_iterations = n_iterations
        self.learning_rate = learning_rate
        self.order = order
        self.pseudo_iterations = pseudo_iterations
        self.subsample = subsample
        self.colsample = colsample
        self.trim = trim
        self.potentials = potentials
        self.newton = newton
        self.line_search = line_search
        self.decode = decode
        self.early_stopping = early_stopping
        self.committee = committee
        self.patience = patience
        self.min_samples_leaf = min_samples_leaf
        self.l2 = l2
        self.transition_c2 = transition_c2
        self.transition_every = transition_every
        self.by = by
        self.categorical = categorical
        self.class_weight = class_weight
        self.lightgbm_params = lightgbm_params
        self.callbacks = callbacks
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- training

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        label: str | None = None,
        sequence: str | Sequence[str] | None = None,
        group: str | None = None,
        lengths: Any = None,
        groups: Sequence[Any] | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> TreeCRF:
        """Train on sequences X with labels y.

        X is a list of sequences of items: dicts of name to value, lists of values, or single values; or a
        list of arrays [T, K] or data frames; or one of them with ``lengths`` (y may then be flat, too;
        without, it is cut like y); or :class:`crfkit.data.Columns`. In y a label may be None (unknown) or a
        set (one of these). ``sample_weight`` is one number per sequence. With ``X_dev``, ``y_dev`` training
        stops when the dev accuracy no longer rises, and the best number of rounds is kept. ``groups`` is one
        group per sequence: the folds of ``early_stopping`` and ``committee`` never split a group.
        ``checkpoint`` is a path or a :class:`crfkit.Checkpoint`, with which a training that was killed can be
        continued.
        One data frame can take the place of X and y: ``label``, ``sequence`` and ``group`` name its columns
        of labels, sequence ids and groups (docs/tables.md).
        """
        if self._is_table(label, sequence, group):
            more = {"sample_weight": sample_weight, "groups": groups, "checkpoint": checkpoint}
            return self._fit_table(X, y, label, sequence, group, X_dev, lengths=lengths, **more)
        self._check(X_dev, y_dev, groups)
        given = X, y, sample_weight, lengths
        data = LabelledTable.read(*given, self.categorical, self.class_weight)
        return self._train(data, X_dev, y_dev, groups, Checkpoint.of(checkpoint))

    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        lengths: Any = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> TreeCRF:
        """Continue boosting with new data: add ``n_iterations`` rounds to the trees of the fitted model.

        New trees start from the scores of the old ones, which do not change; tables of transitions are held
        near their old values. Columns, categories, labels and the window stay those of the first training: a
        new label is an error, a new category counts as missing. Earlier data has no say in the new rounds, so
        take few of them (``set_params(n_iterations=10)``) if the new data is little. docs/trees.md
        """
        previous = getattr(self, "tagger_", None)
        if previous is None:
            return self.fit(X, y, sample_weight, X_dev, y_dev, lengths=lengths, checkpoint=checkpoint)
        self._check(X_dev, y_dev, None)
        for name in ("early_stopping", "committee"):
            if getattr(self, name) is not None:
                raise InputError(f"partial_fit cannot use {name}: set it to None, or fit again on all data")
        schema = previous.schema, previous.classes
        data = LabelledTable.read(X, y, sample_weight, lengths, None, self.class_weight, schema)
        return self._train(data, X_dev, y_dev, None, Checkpoint.of(checkpoint), previous.potential)

    def _train(
        self,
        data: LabelledTable,
        X_dev: Any,
        y_dev: Any,
        groups: Sequence[Any] | None,
        checkpoint: Checkpoint | None,
        start: TreePotential | None = None,
    ) -> TreeCRF:
        """Grow the trees and keep them; ``start`` is a model that is trained further."""
        window = start.window if start is not None else rule.window_sides(self.window) or (0, 0)
        by = None if self.by is None else data.category_column(self.by)
        settings = boosting_settings(self, len(data.classes), window, by, thread_count(self.n_jobs))
        if start is not None:
            settings = settings.continuing(start)
        dev = None if X_dev is None else read_dev(X_dev, y_dev, data, self.decode, self.n_jobs)
        saving = None
        if checkpoint is not None:
            saving = checkpoint.begin(self, tree_identity(data, dev, groups, settings, start))
        progress = Progress(self.verbose)
        with continuing(checkpoint):
            grown = TreeTraining(self, data, settings, dev, groups, progress, saving, start).run()
        self.converged_, self.cv_accuracy_ = grown.converged, grown.curve
        potential = TreePotential.mean(
            [TreePotential(Forest.end_to_end(m.forests), window, m.tables) for m in grown.members]
        )
        scores = potential.scores(data.table, n_jobs=self.n_jobs)
        self.objective_ = minus_log_likelihood(
            with_costs(scores, data), data.labels, data.weights, self.n_jobs
        )
        self._keep(data, potential, grown.members)
        if not self.converged_:
            raise KeyboardInterrupt(grown.message)
        if saving is not None:
            saving.end()
        warn_of_unpredicted(
            data.classes,
            data.labels,
            data.table.offsets,
            lambda chosen: decoded(
                potential.scores(data.table.subset(chosen), n_jobs=self.n_jobs), self.decode, self.n_jobs
            ),
            data.class_weights,
        )
        return self

    @property
    def _has_folds(self) -> bool:
        return self.early_stopping is not None or self.committee is not None

    def _check(self, X_dev: Any, y_dev: Any, groups: Sequence[Any] | None) -> None:
        rule.check_parameters(self, self._rules)
        if (X_dev is None) != (y_dev is None):
            raise InputError("X_dev and y_dev go together: give both or neither")
        if X_dev is not None and self.early_stopping is not None:
            raise InputError(
                "early_stopping chooses the rounds by folds, X_dev by a dev set: give one of them"
            )
        if groups is not None and self.early_stopping is None and self.committee is None:
            raise InputError("groups are for the folds of early_stopping and committee, which are None")

    def _keep(self, data: LabelledTable, potential: TreePotential, members: list[Member]) -> None:
        if self.converged_ and not len(potential.forest.root) and len(data.classes) > 1:
            warn_of_no_trees()
        self.tagger_ = TreeTagger(data.classes, data.schema, potential, self.decode, self.n_jobs)
        self.classes_ = data.classes
        self.stages_: list[Stage] = members[0].stages if len(members) == 1 else []
        self.history_ = ShownList(record for member in members for record in member.history)
        self.n_iter_ = len(members[-1].stages)

    # ---- using the fitted model

    def _fitted(self) -> TreeTagger:
        tagger = super()._fitted()
        rule.check_parameters(self, {"decode": self._rules["decode"]})
        tagger.decoding = self.decode
        return tagger

    def staged_predict(self, X: Any, *, lengths: Any = None) -> Iterator[list[list[Any]]]:
        """Yield the predictions after each round of training. Loaded models have only the last round."""
        tagger = self._fitted()
        if len(getattr(self, "stages_", ())) != self.n_iter_:
            raise InputError(
                "staged predictions need a model that was fitted in this process, without a committee: a "
                "loaded model has only its last round"
            )
        for lattice in tagger.staged(X, self.stages_, lengths):
            yield decode_labels(decoded(lattice, self.decode, self.n_jobs), lattice.offsets, tagger.classes)

    @property
    def feature_names_(self) -> list[str]:
        """Names of the features: columns at places of the window, and the previous label."""
        return self._fitted().feature_names

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each of ``feature_names_`` in the total gain of all splits."""
        return self._fitted().potential.forest.importances()

    def plot_importances(self, ax: Axes | None = None, *, n: int = 12) -> Axes:
        """Draw the n features with the largest importances, in percent of the total gain."""
        ax = draw_shares(self.feature_names_, self.feature_importances_, n, ax)
        ax.set_xlabel("share of the gain, %")
        return ax

    def _reasoned(
        self, X: Any, lengths: Any, constraints: Constraints | None, known: Any
    ) -> Iterator[tuple[ScoredSequences, Reasons]]:
        from crfkit.models.trees.explanation import TreeReasons

        tagger = self._fitted()
        table = tagger.encode(X, lengths)
        prepared = Prepared(table.offsets, lambda a, b: Piece(tagger.lattice(table.piece(a, b)), None))
        for start, stop, lattice in tagger.constrained_pieces(prepared, constraints, known):
            yield lattice, TreeReasons(tagger, table.piece(start, stop))

    def conjunctions(self, n: int = 20, *, label: Any = None) -> list[Conjunction]:
        """Return the most important paths through the trees: conditions, label, and change of its score."""
        tagger = self._fitted()
        if label is not None and label not in tagger.classes:
            raise InputError(f"the model has no label {label!r}; it has {tagger.classes!r:.200}")
        return tagger.conjunctions(n, label)

    # ---- files

    def _training_record(self) -> dict[str, Any]:
        return {**super()._training_record(), "rounds": self.n_iter_}

    @classmethod
    def _parameters_of(cls, tagger: TreeTagger, header: Mapping[str, Any]) -> dict[str, Any]:
        before, after = tagger.potential.window
        window = before + 1 + after if before == after else (before, after)
        return {**super()._parameters_of(tagger, header), "window": window, "decode": tagger.decoding}

    def _restore(self, header: Mapping[str, Any]) -> None:
        super()._restore(header)
        rounds = header.get("rounds")
        if isinstance(rounds, int):
            self.n_iter_ = rounds
        self.cv_accuracy_ = []
