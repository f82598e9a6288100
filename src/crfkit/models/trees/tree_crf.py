"""TreeCRF: a conditional random field whose potentials are boosted regression trees, as an estimator.

Dietterich, Ashenfelter and Bulatov, "Training conditional random fields via gradient tree boosting" (ICML
2004).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from crfkit import parameters as rule
from crfkit.arrays import FloatArray, IntArray
from crfkit.data.labelled_table import LabelledTable
from crfkit.data.labels import decode_labels
from crfkit.data.tables import Table
from crfkit.exceptions import ConvergenceWarning, InputError
from crfkit.inference.expected_gain import decoded
from crfkit.models.checkpoint import Checkpoint, Saving
from crfkit.models.sequence_labeller import SequenceLabeller
from crfkit.models.training import Watch
from crfkit.models.trees.boosting import Boosting, BoostingSettings
from crfkit.models.trees.steps import (
    Callback,
    Member,
    boosting_settings,
    grow_member,
    member_state,
    tree_identity,
)
from crfkit.models.trees.tagger import Conjunction, Stage, TreeTagger
from crfkit.models.trees.validation import HeldOut, fold_numbers, n_labelled, read_dev, rounds_by_folds
from crfkit.objectives.dev_set import DevSet
from crfkit.objectives.functional_gradient import minus_log_likelihood
from crfkit.optim.problem import Save, State
from crfkit.potentials.forest import Forest
from crfkit.potentials.tree import TreePotential
from crfkit.progress import Progress
from crfkit.threads import thread_count


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
        checkpoint = Checkpoint.of(checkpoint)
        window = rule.window_sides(self.window) or (0, 0)
        threads = thread_count(self.n_jobs)
        data = LabelledTable.read(X, y, sample_weight, lengths, self.categorical)
        by = None if self.by is None else data.category_column(self.by)
        progress = Progress(self.verbose)
        settings = boosting_settings(self, len(data.classes), window, by, threads)
        dev = None if X_dev is None else read_dev(X_dev, y_dev, data, self.decode, self.n_jobs)
        saving = None
        if checkpoint is not None:
            saving = checkpoint.begin(self, tree_identity(data, dev, groups, settings))
        limit = self._choose_rounds(data, settings, groups, progress, saving)
        members, message = self._grow(data, dev, settings, groups, limit, progress, saving)
        potential = TreePotential.mean(
            [TreePotential(Forest.end_to_end(m.forests), window, m.tables) for m in members]
        )
        scores = potential.scores(data.table, n_jobs=self.n_jobs)
        self.objective_ = minus_log_likelihood(scores, data.labels, data.weights, self.n_jobs)
        self._keep(data, potential, members)
        if not self.converged_:
            raise KeyboardInterrupt(message)
        if saving is not None:
            saving.end()
        return self

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

    def _choose_rounds(
        self,
        data: LabelledTable,
        settings: BoostingSettings,
        groups: Sequence[Any] | None,
        progress: Progress,
        saving: Saving | None,
    ) -> int:
        """Return the maximum number of rounds, chosen by cross-validation if requested."""
        self.cv_accuracy_: list[float] = []
        if self.early_stopping is None:
            return self.n_iterations
        saved, save = None if saving is None else saving.state, None
        if saved is not None and "chosen" in saved:
            limit, self.cv_accuracy_ = saved["chosen"]
            return int(limit)
        if saving is not None:
            offer = saving.offer
            save = lambda own: offer(lambda: {"folds": own()})  # noqa: E731
        progress.say(f"choosing the number of rounds by {self.early_stopping} folds")
        limit, self.cv_accuracy_ = rounds_by_folds(
            data,
            self._folds(data, groups, self.early_stopping, "early_stopping"),
            settings,
            n_iterations=self.n_iterations,
            patience=self.patience,
            decode=self.decode,
            n_jobs=self.n_jobs,
            show=progress.say,
            save=save,
            resume=saved and saved["folds"],
        )
        return limit

    def _folds(
        self, data: LabelledTable, groups: Sequence[Any] | None, n_folds: int, asked_by: str
    ) -> IntArray:
        """Return the fold of each sequence [N]."""
        return fold_numbers(n_labelled(data), groups, n_folds, self.random_state or 0, asked_by)

    def _grow(
        self,
        data: LabelledTable,
        dev: tuple[Table, DevSet] | None,
        settings: BoostingSettings,
        groups: Sequence[Any] | None,
        limit: int,
        progress: Progress,
        saving: Saving | None,
    ) -> tuple[list[Member], str]:
        """Train the model, or every member of a committee; also return why training ended.

        If it is interrupted, the complete members are returned.
        """
        chosen: list[IntArray | None] = [None]
        if self.committee is not None:
            fold = self._folds(data, groups, self.committee, "committee")
            chosen = [np.flatnonzero(fold != k) for k in range(self.committee)]
        progress.total = limit * len(chosen)
        found: list[Member] = []
        saved: list[State] = [] if saving is None else (saving.state or {}).get("members", [])
        complete: list[State] = []  # one per member
        save: Save | None = None
        if saving is not None:
            offer, rounds = saving.offer, (limit, self.cv_accuracy_)
            save = lambda own: offer(lambda: {"chosen": rounds, "members": [*complete, own()]})  # noqa: E731
        for k, part in enumerate(chosen):
            boosting = Boosting(data if part is None else data.subset(part), settings, self.n_jobs)
            watch: Watch[int] = Watch(progress, self.patience)
            member = grow_member(
                boosting,
                None if dev is None else HeldOut(boosting, *dev),
                limit,
                watch,
                patience=self.patience,
                callbacks=self.callbacks or (),
                save=save,
                resume=saved[k] if k < len(saved) else None,
            )
            if saving is not None:
                complete.append(member_state(boosting, watch, member.message))
            message, self.converged_ = member.message, member.converged
            if not self.converged_ and found:  # a member that has barely begun would spoil the mean
                message = f"training was interrupted; {len(found)} of {len(chosen)} members are kept"
                break
            if not self.converged_ and not member.stages:
                raise KeyboardInterrupt
            found.append(member)
            if not self.converged_:
                break
        progress.close(message)
        return found, message

    def _keep(self, data: LabelledTable, potential: TreePotential, members: list[Member]) -> None:
        if self.converged_ and not len(potential.forest.root) and len(data.classes) > 1:
            warnings.warn(
                "no split reduced the objective: the model has no trees, and ignores X. Are there enough "
                "sequences for min_samples_leaf, and enough columns for colsample?",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.tagger_ = TreeTagger(data.classes, data.schema, potential, self.decode, self.n_jobs)
        self.classes_ = data.classes
        self.stages_: list[Stage] = members[0].stages if len(members) == 1 else []
        self.history_ = [record for member in members for record in member.history]
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
