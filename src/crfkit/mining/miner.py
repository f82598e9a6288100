"""Mining as a scikit-learn transformer, for use before any model.

In a pipeline it turns X into :class:`crfkit.data.Encoded`, which every model of crfkit takes;
``CRF(associations=AssociationMiner(…))`` does the same inside the model, which then keeps the rules in its
file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from crfkit import parameters as rule
from crfkit.arrays import BoolArray
from crfkit.conventions import BaseEstimator, TransformerMixin, check_is_fitted
from crfkit.data.labels import Labels, encode_labels, label_lists
from crfkit.data.sequences import Encoded, Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, InputWarning
from crfkit.features.inputs import encode_input, given_template
from crfkit.features.labelled import read_labelled
from crfkit.features.template import Template
from crfkit.mining.associations import USES, Associations, Values, rule_values
from crfkit.mining.rules import Rules
from crfkit.mining.search import MAX_SETS, Bounds, mine_rules
from crfkit.upper_floors import elsewhere
from crfkit.warn import warn

Items = str | tuple[str, ...] | list[str] | re.Pattern[str] | Callable[[str], bool]


class AssociationMiner(TransformerMixin, BaseEstimator):
    """A transformer that mines rare but informative combinations of observations.

    A rule X → l holds where all items of X are observed: attributes of one position. It is kept if at least
    ``min_support`` positions have X and the label l, and at least a share ``min_confidence`` of the positions
    with X has the label l. It is important if the single items of X vote for another label.

    Parameters
    ----------
    min_support, max_support
        Bounds on the support of a rule; ``max_support=None``: no upper bound.
    min_confidence
        Least confidence, above 0 and up to 1.
    lengths
        Least and largest number of items in X.
    items
        Which attributes are items: those whose names begin with this prefix or one of these prefixes, match
        this compiled regular expression, or for which this function is true. None: all of them, or with a
        ``template`` those of its lines with a single cell.
    important
        Keep only important rules.
    minimal
        Keep only rules without a proper subset of X that implies l with at least the same confidence.
    use
        How ``transform``, or the CRF, uses the rules. "features": an attribute for each rule, which scores
        only the rule's own label. "weighted": the same with a value, larger for rarer rules. "constraints":
        labels that are forced in decoding, by the longest rule that holds. "votes": for each label a few
        numbers: how many rules hold for it, of what kind and with what support. In training, the votes at a
        position come from rules mined without its part of the data, so that their weights are not
        overconfident.
    value
        With "weighted": a function of the array of supports that returns the rules' values; None:
        usupp - supp + 2, where usupp is ``max_support`` or the largest support found.
    loudness
        With "votes": the factor of their numbers. The smaller it is, the more the L2 penalty of the model
        restricts their influence.
    rules
        :class:`crfkit.mining.Rules` found before; then nothing is mined.
    template
        For X of columns: the template that makes attributes of them, as in ``CRF(template=…)``.
    folds
        With "votes": the parts into which the training data is cut, at most one per sequence.
    max_rules
        Largest number of rules to keep in memory; more are an error.
    max_sets
        Largest number of sets of items to visit; more are an error. A thread visits about seven million
        per second, so that a search without an end is refused after some seconds. The number of sets grows
        with the power of the longest length.
    n_jobs
        Threads; None and -1 for all cores.
    verbose
        Show progress.

    Attributes
    ----------
    rules_ : crfkit.mining.Rules
        The rules.
    associations_ : crfkit.mining.Associations
        The rules bound to the attributes of X, as ``transform`` uses them.

    Examples
    --------
    >>> from crfkit.mining import AssociationMiner
    >>> X = [[["a", "b"], ["a"], ["a"]], [["b"], ["b", "a"], ["b"], ["a"]]]
    >>> y = [["yes", "no", "no"], ["no", "yes", "no", "no"]]
    >>> [str(rule) for rule in AssociationMiner().fit(X, y).rules_]
    ['a & b → yes']
    """

    _rules: ClassVar[dict[str, rule.Rule]] = {
        "min_support": rule.whole_number(1),
        "max_support": rule.optional(rule.whole_number(1)),
        "min_confidence": (
            "a number above 0 and up to 1",
            lambda v: isinstance(v, Real) and not isinstance(v, bool) and 0 < float(v) <= 1,
        ),
        "lengths": (
            "two whole numbers, the least at least 1",
            lambda v: (
                isinstance(v, (tuple, list))
                and len(v) == 2
                and all(isinstance(n, Integral) for n in v)
                and 1 <= v[0] <= v[1]
            ),
        ),
        "items": (
            "None, a prefix, several, a compiled regular expression or a function",
            lambda v: (
                v is None
                or isinstance(v, (str, re.Pattern))
                or callable(v)
                or (isinstance(v, (tuple, list)) and bool(v) and all(isinstance(p, str) for p in v))
            ),
        ),
        "important": rule.flag(),
        "minimal": rule.flag(),
        "use": rule.one_of(*USES),
        "value": ("None or a function", lambda v: v is None or callable(v)),
        "loudness": (
            "a number above 0",
            lambda v: isinstance(v, Real) and not isinstance(v, bool) and 0 < float(v) < float("inf"),
        ),
        "rules": ("None or crfkit.mining.Rules", lambda v: v is None or isinstance(v, Rules)),
        "folds": rule.whole_number(2),
        "max_rules": rule.whole_number(1),
        "max_sets": rule.whole_number(1),
        "verbose": rule.either(rule.flag(), rule.whole_number(0)),
    }

    def __init__(
        self,
        min_support: int = 2,
        max_support: int | None = None,
        min_confidence: float = 1.0,
        lengths: tuple[int, int] = (2, 3),
        items: Items | None = None,
        important: bool = True,
        minimal: bool = False,
        use: str = "features",
        value: Values | None = None,
        loudness: float = 0.1,
        rules: Rules | None = None,
        template: Template | str | None = None,
        folds: int = 8,
        max_rules: int = 50_000_000,
        max_sets: int = MAX_SETS,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.min_support = min_support
        self.max_support = max_support
        self.min_confidence = min_confidence
        self.lengths = lengths
        self.items = items
        self.important = important
        self.minimal = minimal
        self.use = use
        self.value = value
        self.loudness = loudness
        self.rules = rules
        self.template = template
        self.folds = folds
        self.max_rules = max_rules
        self.max_sets = max_sets
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, y_pred: Any = None, lengths: Any = None) -> AssociationMiner:
        """Mine the rules of sequences X with labels y; None in y is a position without a label.

        ``y_pred`` are a model's predictions for X, by cross-validation (a model trained on X makes too few
        errors). Then only rules that correct an error are kept; ``rules_.fixes`` counts these errors. X may
        also be a collection of Dask (docs/large-data.md).
        """
        reader = elsewhere("rules", X)
        if reader is not None:
            rules: Rules = reader(self, X, y, y_pred, lengths)
            vocabulary, classes = rules.vocabulary, rules.classes
        else:
            sequences, labels, vocabulary, classes = self.read(X, y, lengths)
            wrong = None
            if y_pred is not None:
                found = label_lists(y_pred, "y_pred")
                wrong = encode_labels(found, classes, sequences.offsets, unknown="ignore").ids != labels.ids
            rules = self.find(sequences, labels, vocabulary, classes, self._template(), wrong)
        _warn_of_none(rules)
        self._keep(self.bind(rules, vocabulary, classes))
        return self

    def transform(self, X: Any, *, lengths: Any = None) -> Encoded:
        """Return X with the attributes of the rules, or with forced labels."""
        check_is_fitted(self, "associations_")
        vocabulary = self.associations_.rules.vocabulary
        sequences = encode_input(
            X, vocabulary, self._template(), grow=False, lengths=lengths, n_jobs=self.n_jobs
        )
        return self.associations_.apply(sequences, self.n_jobs)

    def fit_transform(self, X: Any, y: Any = None, *, lengths: Any = None) -> Encoded:
        """Mine rules and transform X; for "votes", each part of X by rules mined from the others."""
        sequences, labels, vocabulary, classes = self.read(X, y, lengths)
        encoded, associations = self.learn(sequences, labels, vocabulary, classes, self._template())
        self._keep(associations)
        return encoded

    # ---- for models that mine rules themselves

    def learn(
        self,
        sequences: Sequences,
        labels: Labels,
        vocabulary: Vocabulary,
        classes: list[Any],
        template: Template | None,
    ) -> tuple[Encoded, Associations]:
        """Return the transformed training data, and the rules for all other data.

        The attributes of the rules are added to the vocabulary.
        """
        rules = self.find(sequences, labels, vocabulary, classes, template)
        _warn_of_none(rules)
        associations = self.bind(rules, vocabulary, classes)
        if self.use != "votes" or self.rules is not None:
            return associations.apply(sequences, self.n_jobs), associations
        n = sequences.n_sequences
        n_folds = min(self.folds, n)
        if n_folds < 2:
            raise InputError('use="votes" applies rules mined from other sequences: pass at least two')
        part = np.random.default_rng(0).permutation(n) % n_folds  # [N]
        parts = []
        for k in range(n_folds):
            others, own = np.flatnonzero(part != k), sequences.subset(np.flatnonzero(part == k))
            known = labels.subset(others, sequences.offsets)
            elsewhere = self.find(sequences.subset(others), known, vocabulary, classes, template)
            bound = self.bind(elsewhere, vocabulary, classes, associations.kinds)
            parts.append(bound.apply(own, self.n_jobs).sequences)
        order = np.argsort(np.argsort(part, kind="stable"))  # [N] place of a sequence in the parts
        return Encoded(Sequences.end_to_end(parts, len(vocabulary)).subset(order), vocabulary), associations

    def find(
        self,
        sequences: Sequences,
        labels: Labels,
        vocabulary: Vocabulary,
        classes: list[Any],
        template: Template | None,
        wrong: BoolArray | None = None,  # [ΣT]
    ) -> Rules:
        """Return the rules in the data, or those that were given."""
        bounds = self.bounds()
        if self.rules is not None:
            if self.use == "constraints" and (self.rules.confidence < 1).any():
                raise InputError(
                    "constraints are for rules that are always right, but some of the given ones are not: "
                    "use rules[rules.confidence == 1]"
                )
            return self.rules
        kept = chosen_items(self.items, vocabulary, template)  # [A]
        transactions = sequences if kept.all() else sequences.only(kept[sequences.indices])
        if not transactions.indices.size:
            raise InputError(no_items(self.items))
        return mine_rules(
            transactions,
            labels.ids,
            vocabulary,
            classes,
            **vars(bounds),
            marked=wrong,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def bounds(self) -> Bounds:
        """Check the parameters, and return which rules are searched for."""
        rule.check_parameters(self, self._rules)
        if self.max_support is not None and self.max_support < self.min_support:
            raise InputError(
                f"max_support={self.max_support} must be at least min_support={self.min_support}"
            )
        if self.use == "constraints" and self.min_confidence < 1 and self.rules is None:
            raise InputError(
                "constraints are for rules that are always right: set min_confidence=1, "
                f"got {self.min_confidence:g}"
            )
        return Bounds(
            self.min_support,
            self.max_support,
            float(self.min_confidence),
            (int(self.lengths[0]), int(self.lengths[1])),
            bool(self.important),
            bool(self.minimal),
            self.max_rules,
            self.max_sets,
        )

    def bind(
        self, rules: Rules, vocabulary: Vocabulary, classes: list[Any], kinds: list[str] | None = None
    ) -> Associations:
        """Bind the rules to the attributes of a model; adds their attributes to the vocabulary."""
        values = rule_values(self.value, rules, self.max_support) if self.use == "weighted" else None
        return Associations.bind(rules, self.use, vocabulary, classes, values, float(self.loudness), kinds)

    # ---- inside

    def _template(self) -> Template | None:
        return given_template(self.template)

    def read(self, X: Any, y: Any, lengths: Any = None) -> tuple[Sequences, Labels, Vocabulary, list[Any]]:
        """Read X and y for ``find`` and ``learn``."""
        if y is None:
            raise InputError("mining needs labels: fit(X, y)")
        data = read_labelled(X, y, template=self.template, lengths=lengths, n_jobs=self.n_jobs)
        return data.sequences, data.labels, data.vocabulary, data.classes

    def _keep(self, associations: Associations) -> None:
        self.associations_ = associations
        self.rules_ = associations.rules


def chosen_items(items: Items | None, vocabulary: Vocabulary, template: Template | None) -> BoolArray:
    """Tell which attributes are items, [A]."""
    if len(vocabulary) and vocabulary.names_columns():
        raise InputError(
            "rules need attributes with names, but the columns of an array have none: pass X as "
            "lists of strings or dicts"
        )
    if items is None:
        if template is None:
            return np.ones(len(vocabulary), np.bool_)
        items = template.single_cell_prefixes
    names = vocabulary.strings()
    if isinstance(items, re.Pattern):
        fits: Callable[[str], Any] = items.search
    elif callable(items):
        fits = items
    else:
        prefixes = items if isinstance(items, str) else tuple(items)
        fits = lambda name: name.startswith(prefixes)  # noqa: E731
    return np.fromiter((bool(fits(name)) for name in names), np.bool_, len(names))


def no_items(items: Items | None) -> str:
    """Return what is wrong if the data has no item."""
    return f"no position has an item: items={items!r} fits none of the attributes"


def _warn_of_none(rules: Rules) -> None:
    if not len(rules):
        warn(
            "no rules were found within the bounds; lower min_support or min_confidence, allow more lengths, "
            "or set important=False",
            InputWarning,
        )
