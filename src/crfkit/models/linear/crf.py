"""The linear-chain CRF as a scikit-learn estimator.

Parameter names and the meaning of c1 and c2 are CRFsuite's.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy.typing as npt

from crfkit import parameters as rule
from crfkit.exceptions import ConvergenceWarning, InputError, ModelFileError
from crfkit.features.extraction import LostExtraction, fitted_extraction, is_extractor
from crfkit.features.index import HIGHEST_ORDER
from crfkit.features.penalty_groups import RULE as GROUPING_RULE
from crfkit.features.template import Template
from crfkit.inference import Constraints, PermittedPairs
from crfkit.io.model_file import Source
from crfkit.io.shown_list import ShownList
from crfkit.mining.miner import AssociationMiner
from crfkit.mining.rules import Rules
from crfkit.models.checkpoint import Checkpoint, continuing
from crfkit.models.foreign import export_crfsuite, load_any
from crfkit.models.linear.data_frames import LinearFrames
from crfkit.models.linear.first_training import Trained, trained
from crfkit.models.linear.partial_training import continued
from crfkit.models.linear.penalty_report import PenaltyReport
from crfkit.models.linear.penalty_step import check_penalties
from crfkit.models.linear.shown_weights import ShowsWeights
from crfkit.models.linear.steps import TrainingProblem
from crfkit.models.linear.tagger import LinearTagger
from crfkit.models.training import Outcome
from crfkit.models.training_record import chosen_instead
from crfkit.optim.methods import algorithm_rule
from crfkit.selection.selected import Selection
from crfkit.threads import thread_count
from crfkit.warn import warn

if TYPE_CHECKING:
    from crfkit.inference.lattice import ScoredSequences
    from crfkit.models.explanation import Reasons

_Self = TypeVar("_Self", bound="CRF")


class CRF(LinearFrames, ShowsWeights, PenaltyReport):
    """Linear-chain conditional random field for labelling sequences.

    Minimises ``-Σ weight · log p(y | x) + c2·‖w‖² + c1·‖w‖₁``.

    Parameters
    ----------
    c1, c2
        Weights of the L1 and L2 penalties. c1 > 0 gives a sparse model. c2="auto" finds the penalty that is
        best on held-out parts of the training data, in the time of a few trainings; with c1="auto" too, an
        elastic net with c1 = c2 (docs/penalties.md).
    penalty_groups
        Groups of features with L2 penalties of their own, which c2="auto" finds: "templates" (one group per
        line of a template or name of an attribute), a dict of a group's name to a prefix of attributes or
        several, or a function of an attribute's name, or of its name and a label (of attributes on label
        pairs: a tuple). Or scales: a :class:`crfkit.features.PenaltyScales`, a dict of names to factors of
        c2, or "general" (for ``token_features`` and the default features of tables); c2 may then be a number
        or "auto".
    penalty_folds
        The number of parts that c2="auto" holds out in turn.
    order
        1: a label depends on the one before it; 2: on the two before it; 3 and higher likewise. The cost
        grows with the label n-grams that occur in training, not with all possible ones (docs/orders.md).
    prune
        For order 2 and higher: train a model of order 1 first, continue from it, and leave out labels whose
        probability at a position of the training data it finds below this number; 0.0001 makes training much
        faster with many labels. ``pruned_`` says how much probability was left out.
    algorithm
        "lbfgs" (with c1 > 0: OWL-QN), "sgd" (stochastic, c1 = 0), or "auto", the fastest: a few stochastic
        epochs, then L-BFGS. Without likelihood and penalties: "ap", "pa" or "arow" (averaged perceptron,
        passive-aggressive, AROW), with settings as in "pa(c=0.5)" (docs/training.md).
    max_iterations
        Maximum number of iterations; None for the algorithm's default. The stochastic start of "auto" takes
        at most as many passes over the data.
    tol
        Stop when the objective changes by less than this share of itself over ten iterations (with "sgd",
        whose epochs are noisy: a hundred times this share), or the gradient's norm is below this share of the
        weights' norm.
    min_freq
        Features seen at fewer training positions than this are left out. (CRFsuite sums the values of an
        attribute instead, so that features with negative values are left out.)
    all_possible_states, all_possible_transitions
        Also give a weight to attribute-label pairs, or transitions, that do not occur in training.
    class_weight
        {label: weight} or "balanced": weight of an error at a position with this true label. Every wrong path
        costs log(weight) there (softmax-margin; Gimpel and Smith, NAACL 2010), so that 1 changes nothing.
    template
        A :class:`crfkit.features.Template` (or its text) in the format of CRF++ or Wapiti. X is then rows of
        cells: :class:`crfkit.data.Columns` from ``crfkit.io.read_columns``, or lists of lists of strings. A
        template without a ``B`` line makes a model without transitions, as in CRF++.
    extractor
        What makes attributes of tokens, rows or data frames, which X then is: ``token_features``, a
        :class:`crfkit.features.Features` (``fit`` fits it too), or a function of a sentence that returns its
        items. The model keeps it, and the model file too, except for functions and regular expressions of
        yours.
    edge_attributes
        Attributes that score pairs of neighbouring labels (y[t-1], y[t]) instead of labels: those whose names
        begin with this prefix, or with one of a tuple of prefixes; or a dict of prefix to "edge" or "both"
        (labels as well).
    associations
        A :class:`crfkit.mining.AssociationMiner`: rules are mined from the training data and applied
        according to its ``use``; the model keeps them (``rules_``).
    features
        A :class:`crfkit.selection.Selection`: the model has exactly these features, as far as their
        attributes and labels occur; ``min_freq`` and ``all_possible_*`` are ignored.
    patience
        With a dev set: stop after this many iterations without a better dev accuracy.
    n_jobs
        Threads; -1 for all cores; None for all cores, or OMP_NUM_THREADS, which joblib sets in its workers.
    random_state
        Seed of the stochastic steps. None means 0, and a random seed with "sgd". The same data,
        seed and thread count give exactly the same model. With another thread count the objective differs by
        about 1e-7 of its value and single weights by about 1e-3.
    verbose
        "auto": a progress bar with the time that is left, if training takes more than a few seconds and
        stderr is a terminal or a notebook; False: nothing; True: the bar from the start, or lines if stderr
        is a file or a pipe; 2: always one line per iteration.
    warm_start
        Let ``fit`` start from the weights of the model fitted before, matched by attribute and label names.

    Attributes
    ----------
    classes_ : list
        The labels, sorted.
    objective_ : float
        Training objective of the kept weights (with a dev set: those best on it).
    history_ : list of dict
        One record per iteration: objective, gradient_norm, step, passes, seconds, dev_accuracy.
    n_iter_ : int
        Number of iterations.
    c2_, penalties_, penalty_history_ : float, dict, list of dict
        With c2="auto" or penalty groups: the common penalty (which scales multiply; otherwise the geometric
        mean over the groups), the penalty of each group, and one record per step of the search.
    pruned_ : PrunedShare
        With ``prune``: the mean and the largest share of the probability that pruning leaves out, by a pass
        without pruning over the training sequences, or over an even selection with up to 5,000 positions.
    converged_ : bool
        Whether training ended at an optimum, as far as the gradient there can tell (docs/training.md).
    state_features_, transition_features_, edge_features_ : dict
        The nonzero weights: {(attribute, label): weight}, {(label, next label): weight}, and
        {(attribute, label, next label): weight} of the attributes on label pairs.
    tagger_ : crfkit.models.linear.tagger.LinearTagger
        The fitted model.

    Examples
    --------
    >>> from crfkit import CRF
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "a"}, {"word": "dog"}]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> CRF(c2=0.1).fit(X, y).predict([[{"word": "the"}, {"word": "dog"}]])
    [['DET', 'NOUN']]
    """

    _tagger = LinearTagger
    _rules: ClassVar[dict[str, rule.Rule]] = {
        "c1": rule.either(rule.number(0), rule.one_of("auto")),
        "c2": rule.either(rule.number(0), rule.one_of("auto")),
        "penalty_groups": GROUPING_RULE,
        "penalty_folds": rule.whole_number(2),
        "order": rule.whole_number(1, HIGHEST_ORDER),
        "prune": rule.number(0, 1),
        "algorithm": algorithm_rule(),
        "max_iterations": rule.optional(rule.whole_number(1)),
        "tol": rule.number(0),
        "min_freq": rule.number(0),
        "all_possible_states": rule.flag(),
        "all_possible_transitions": rule.flag(),
        "class_weight": rule.optional(rule.either(rule.one_of("balanced"), rule.mapping())),
        "extractor": ("None, crfkit.features.token_features, a Features or a function", is_extractor),
        "associations": (
            "None or a crfkit.mining.AssociationMiner",
            lambda v: v is None or isinstance(v, AssociationMiner),
        ),
        "features": ("None or a crfkit.selection.Selection", lambda v: v is None or isinstance(v, Selection)),
        "patience": rule.whole_number(1),
        "random_state": rule.optional(rule.whole_number(0)),
        "verbose": rule.verbosity(),
        "warm_start": rule.flag(),
    }

    def __init__(
        self,
        c1: float | str = 0.0,
        c2: float | str = 0.1,
        order: int = 1,
        algorithm: str = "auto",
        max_iterations: int | None = None,
        tol: float = 1e-5,
        min_freq: float = 0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        template: Template | str | None = None,
        extractor: Any = None,
        edge_attributes: Any = None,
        associations: AssociationMiner | None = None,
        features: Selection | None = None,
        patience: int = 10,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: bool | int | str = "auto",
        warm_start: bool = False,
        penalty_groups: Any = None,
        penalty_folds: int = 5,
        prune: float = 0.0,
    ) -> None:
        self.c1 = c1
        self.c2 = c2
        self.penalty_groups = penalty_groups
        self.penalty_folds = penalty_folds
        self.prune = prune
        self.order = order
        self.algorithm = algorithm
        self.max_iterations = max_iterations
        self.tol = tol
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.class_weight = class_weight
        self.template = template
        self.extractor = extractor
        self.edge_attributes = edge_attributes
        self.associations = associations
        self.features = features
        self.patience = patience
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

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
        permitted: PermittedPairs | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
        groups: Any = None,
    ) -> CRF:
        """Train on sequences X with labels y.

        X is a list of sequences, each a list of items: lists of strings, or dicts of name to str, bool,
        number, list or dict. X may also be a list of arrays or sparse matrices [T, A], one per sequence, or
        one of them with ``lengths`` (y may then be flat, too); without ``lengths`` its rows are cut like y.
        In y a label may be None (unknown) or a set (one of these). ``sample_weight`` is one number per
        sequence. With ``X_dev``, ``y_dev`` training stops when the dev accuracy no longer rises, and the best
        model is kept. With ``permitted`` label pairs (their labels in sorted order) the model is a
        distribution over the permitted labellings only; decode it with
        ``constraints=permitted.constraints()``. ``checkpoint`` is a path or a :class:`crfkit.Checkpoint`,
        with which a training that was killed can be continued. ``groups``, one per sequence (its document),
        stay together in the held-out parts of c2="auto"; of a data frame, ``group`` names their column.
        One data frame can take the place of X and y: ``label`` and ``sequence`` name its columns of labels
        and of sequence ids (docs/tables.md).
        """
        if self._is_table(label, sequence, group):
            more = {"sample_weight": sample_weight, "permitted": permitted, "checkpoint": checkpoint}
            more |= {"lengths": lengths, "groups": groups}
            return self._fit_table(X, y, label, sequence, group, X_dev, **more)
        self._check(X_dev, y_dev)
        if permitted is not None and not isinstance(permitted, PermittedPairs):
            raise InputError(
                f"permitted must be a crfkit.inference.PermittedPairs, got {type(permitted).__name__}"
            )
        previous = getattr(self, "tagger_", None) if self.warm_start else None
        given = X, y, sample_weight, X_dev, y_dev, lengths, (saved := Checkpoint.of(checkpoint))
        with continuing(saved):
            found = trained(self, previous, *given, permitted, self._minimise, groups)
        self._keep_penalties(found.penalties)
        return self._finish(found)

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
    ) -> CRF:
        """Continue training with new data, which may have new attributes and new labels.

        Minimises ``-Σ weight · log p(y | x) + Σ (c2 + h)·(w - w₀)² + c1·‖w - w₀‖₁`` over the new data, where
        w₀ are the weights so far (0 for new features), and h says how firmly earlier data holds each of them.
        With c2="auto" the first call finds c2; later ones use this common penalty for all features.
        Only weights whose attributes and labels occur in the new data change; the work grows with the new
        data, not with the model (docs/training.md).
        """
        self._check(X_dev, y_dev)
        previous = getattr(self, "tagger_", None)
        given = X, y, sample_weight, X_dev, y_dev, lengths, (saved := Checkpoint.of(checkpoint))
        with continuing(saved):
            if previous is None:
                found = trained(self, None, *given, None, self._minimise)
                self._keep_penalties(found.penalties)
            else:
                if self.c2 == "auto" and not hasattr(self, "c2_"):
                    raise InputError("partial_fit cannot find c2 for this model, so give a number c2")
                found = continued(self, previous, *given, self._minimise)
        return self._finish(found)

    def _check(self, X_dev: Any, y_dev: Any) -> None:
        rule.check_parameters(self, self._rules)
        check_penalties(self)
        thread_count(self.n_jobs)
        if (X_dev is None) != (y_dev is None):
            raise InputError("X_dev and y_dev go together: give both or neither")

    def _minimise(self, problem: TrainingProblem) -> Outcome:
        """Minimise the objective. A subclass may minimise another one over the same data and weights."""
        return problem.minimised(
            algorithm=self.algorithm,
            max_iterations=self.max_iterations,
            tol=float(self.tol),
            patience=self.patience,
            seed=self.random_state,
            verbose=self.verbose,
        )

    def _finish(self, trained: Trained) -> CRF:
        """Keep a trained model; raise if training was interrupted, warn if it did not converge."""
        outcome = trained.outcome
        self._keep(trained.tagger, outcome)
        if trained.pruned is not None:
            self.pruned_ = trained.pruned
        if outcome.interrupted:
            raise KeyboardInterrupt(outcome.message)
        if trained.saving is not None:
            trained.saving.end()
        if not outcome.converged:
            warn(outcome.message + trained.advice, ConvergenceWarning)
        return self

    def _keep(self, tagger: LinearTagger, outcome: Outcome) -> None:
        self.tagger_ = tagger
        self.classes_ = tagger.classes
        self.objective_ = outcome.value
        self.history_ = ShownList(outcome.history)
        self.n_iter_ = len(outcome.history)
        self.converged_ = outcome.converged

    @property
    def _leaves_out(self) -> bool:
        """Whether features of weight 0 are left out of the model."""
        return self.c1 != 0 or self.min_freq > 1 or self.features is not None

    @property
    def _l2(self) -> float:
        """c2 of the objective that training starts from; if it is found by training, that of the model."""
        return float(getattr(self, "c2_", 1.0) if self.c2 == "auto" else self.c2)

    @property
    def _l1(self) -> float:
        """c1 of the objective; if it is found by training, it equals c2."""
        return self._l2 if self.c1 == "auto" else float(self.c1)

    # ---- using the fitted model

    def under(self, rules: Rules) -> CRF:
        """Return a copy of the fitted model that decodes under rules.

        Where a rule holds, its label is certain. If several rules hold, the longest one decides, then the one
        with the most support. Known labels and constraints take precedence over rules.
        """
        tagger = self._fitted()
        bound = copy.copy(self)
        encoder = tagger.encoder.under(rules, tagger.classes)
        bound.tagger_ = tagger.with_features(tagger.index, tagger.weights, encoder)
        return bound

    def _reasoned(
        self, X: Any, lengths: Any, constraints: Constraints | None, known: Any
    ) -> Iterator[tuple[ScoredSequences, Reasons]]:
        from crfkit.models.linear.explanation import linear_reasons

        tagger = self._fitted()
        encoded = tagger.encode(X, lengths)
        prepared = tagger.prepare_encoded(encoded)
        for start, stop, lattice in tagger.constrained_pieces(prepared, constraints, known):
            yield lattice, linear_reasons(tagger, encoded.sequences.subset(range(start, stop)))

    # ---- files

    def save_crfsuite(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write the fitted model as a ``.crfsuite`` file, for CRFsuite and python-crfsuite.

        CRFsuite supports first-order models of attributes with one label; anything else raises
        ``InputError``. The template is not written.
        """
        export_crfsuite(self._fitted(), path)

    @classmethod
    def load(
        cls: type[_Self],
        source: Source,
        *,
        n_jobs: int | None = None,
        mmap: bool | None = None,
        extractor: Any = None,
    ) -> _Self:
        """Load a model from a path, from bytes, or from a binary file object.

        ``extractor`` makes the attributes if the file does not say how: because functions or regular
        expressions of yours do, or because the model is CRFsuite's. Otherwise as
        :meth:`crfkit.models.sequence_labeller.SequenceLabeller.load`.
        """
        model = super().load(source, n_jobs=n_jobs, mmap=mmap)
        tagger = model.tagger_
        if extractor is not None:
            record = None if tagger.extraction is None else tagger.extraction.to_record()
            tagger.use(tagger.encoder.with_extraction(fitted_extraction(extractor, record)))
            model.set_params(template=None, extractor=extractor)
        elif isinstance(tagger.extraction, LostExtraction):
            raise ModelFileError(tagger.extraction.explanation)
        return model

    @classmethod
    def _read(
        cls, source: Source, n_jobs: int | None, mmap: bool | None
    ) -> tuple[LinearTagger, dict[str, Any]]:
        return load_any(source, n_jobs=n_jobs, mmap=mmap)

    @classmethod
    def _parameters_of(cls, tagger: LinearTagger, header: Mapping[str, Any]) -> dict[str, Any]:
        params = super()._parameters_of(tagger, header)
        params |= chosen_instead(params, header, cls._rules)
        if params.get("features") is not None:  # the model's features are those that were selected
            own = Selection.of_index(tagger.index, tagger.vocabulary, tagger.classes)
            params["features"] = Selection(own, tagger.conjunctions.atoms)
        return {**params, "template": tagger.template, "extractor": tagger.extraction}
