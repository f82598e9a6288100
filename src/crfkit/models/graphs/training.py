"""``GraphCRF.fit``, step by step: read, then train a potential of the asked kind, with a dev set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from crfkit.arrays import FloatArray, IntArray
from crfkit.conventions import clone
from crfkit.data.graphs import Graph, graphs_of, listed_graphs, node_labels, words_of_graphs
from crfkit.data.labels import Labels, encode_labels, label_lists, label_set
from crfkit.data.sequences import Batch, offsets_of
from crfkit.data.training_data import class_weights, require_data, sequence_weights, with_unlabelled
from crfkit.exceptions import InputError
from crfkit.inference.graph_scores import GraphScores
from crfkit.inference.graphs import Graphs
from crfkit.models.checkpoint import Checkpoint, Saving
from crfkit.models.graphs.names import GraphNames
from crfkit.models.graphs.tagger import GraphTagger
from crfkit.models.kinds import KINDS
from crfkit.models.training import Outcome
from crfkit.objectives.dev_set import DevSet
from crfkit.parameters import check_parameters

if TYPE_CHECKING:
    from crfkit.models.graphs.graph_crf import GraphCRF

# Objectives by name, with the method of inference of each.
OBJECTIVES = {"auto": "auto", "likelihood": "exact", "tree-reweighted": "trw", "pseudo-likelihood": "bp"}

# Potentials whose settings are those of an estimator of chains.
SETTINGS = {"trees": "TreeCRF", "kernel": "KernelCRF"}

# Of these settings, the ones that graphs do not use: refused if they are given.
_UNUSED = {
    "TreeCRF": (
        *("window", "order", "potentials", "by", "categorical", "early_stopping", "committee", "callbacks"),
        *("line_search", "trim", "pseudo_iterations", "decode", "class_weight", "patience"),
    ),
    "KernelCRF": ("decode", "boundary_gain", "class_weight"),
}

Encoded = TypeVar("Encoded")
_TOLERANCE = 1e-4  # of messages in training; on small grids 1e-6 took twice the time to the same objective


class Trained(NamedTuple):
    """A trained model, how training went, and its checkpoint."""

    tagger: GraphTagger
    outcome: Outcome
    saving: Saving | None
    maximised: str  # what training has maximised, in words


@dataclass(frozen=True)
class _Offsets(Batch):
    offsets: IntArray  # [N+1]


@dataclass(frozen=True)
class GraphTask:
    """Training graphs with their labels, the held-out ones, and what to do."""

    estimator: GraphCRF
    graphs: list[Graph]
    names: GraphNames
    classes: list[Any]
    labels: Labels
    weights: FloatArray | None  # [N]; None: all 1
    class_weights: FloatArray | None  # [L]; None: all 1
    dev: tuple[list[Graph], DevSet] | None
    checkpoint: Checkpoint | None

    @property
    def structure(self) -> Graphs:
        """The structure over which training sums."""
        return Graphs(OBJECTIVES[self.estimator.training], warm_start=True, tolerance=_TOLERANCE)

    @property
    def is_pseudo(self) -> bool:
        return self.estimator.training == "pseudo-likelihood"

    def maximised(self, scores: GraphScores) -> str:
        """Return in words what training maximises, given the scores of its graphs."""
        if self.is_pseudo:
            return "pseudo-likelihood"
        exact = self.structure.is_exact(scores, n_jobs=self.estimator.n_jobs)
        if exact.all():
            return "likelihood"
        some = f"; likelihood of {exact.sum()} of {len(exact)} graphs" if exact.any() else ""
        return f"tree-reweighted surrogate of the likelihood (log Z from above){some}"

    def tagger(self, part: Any) -> GraphTagger:
        """Return the tagger with a part."""
        own = self.estimator
        return GraphTagger(self.classes, part, inference=own.inference, decode=own.decode, n_jobs=own.n_jobs)

    def encoded_dev(self, encode: Callable[[list[Graph]], Encoded]) -> Encoded | None:
        """Return the held-out graphs, encoded; None if there are none."""
        if self.dev is None:
            return None
        with _in_the_dev_set():
            return encode(self.dev[0])

    def saving(self, *data: Any) -> Saving | None:
        """Return the checkpoint of training on encoded data."""
        if self.checkpoint is None:
            return None
        held = None if self.dev is None else (self.dev[1].right, self.dev[1].given)
        return self.checkpoint.begin(
            self.estimator,
            {
                "training data": (data, self.names.types, self.weights),
                "labels": (self.classes, self.labels, self.class_weights),
                "dev data": held,
            },
        )


def read_task(
    estimator: GraphCRF,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    X_dev: Any = None,
    y_dev: Any = None,
    checkpoint: Checkpoint | None = None,
) -> GraphTask:
    """Read training graphs and their labels, and the held-out ones if there are any."""
    label = y if isinstance(y, str) else None
    X = listed_graphs(X)  # it is read twice
    graphs = graphs_of(X, label)
    offsets = offsets_of([graph.n_nodes for graph in graphs])
    with words_of_graphs():
        lists = label_lists(with_unlabelled(graphs, node_labels(X, y), None))
        classes = label_set(lists)
        require_data(_Offsets(offsets), classes)
        labels = encode_labels(lists, classes, offsets)
        weights = sequence_weights(sample_weight, len(graphs))
    names = GraphNames.learn(graphs, estimator.ends, label)
    return GraphTask(
        estimator,
        graphs,
        names,
        classes,
        labels,
        weights,
        class_weights(estimator.class_weight, labels, classes),
        None if X_dev is None else _dev(names, X_dev, y_dev, classes),
        checkpoint,
    )


def _dev(names: GraphNames, X: Any, y: Any, classes: list[Any]) -> tuple[list[Graph], DevSet]:
    """Return held-out graphs with their labels."""
    with _in_the_dev_set():
        X = listed_graphs(X)
        graphs = names.graphs(X)
        offsets = offsets_of([graph.n_nodes for graph in graphs])
        with words_of_graphs():
            return graphs, DevSet.of(label_lists(node_labels(X, y)), classes, offsets)


@contextmanager
def _in_the_dev_set() -> Iterator[None]:
    """Let messages name the dev set."""
    try:
        yield
    except InputError as error:
        raise InputError(f"in the dev set: {error}") from error


def trained(task: GraphTask) -> Trained:
    """Return a trained model of the asked potential."""
    given = task.estimator.potential
    if given == "linear":
        from crfkit.models.graphs.linear_training import train_linear

        return train_linear(task)
    settings = settings_class(given)() if isinstance(given, str) else given
    check_parameters(settings, type(settings)._rules)
    _refuse_unused(task.estimator, settings)
    if settings.random_state is None:
        settings = clone(settings).set_params(random_state=task.estimator.random_state)
    if type(settings).__name__ == SETTINGS["trees"]:
        from crfkit.models.graphs.boosting import train_trees
        from crfkit.models.trees.steps import warn_of_no_trees

        found = train_trees(task, settings)
        if found.outcome.converged and not found.outcome.history and len(task.classes) > 1:
            warn_of_no_trees()
        return found
    from crfkit.models.graphs.kernel_training import train_kernels

    return train_kernels(task, settings)


def _refuse_unused(estimator: GraphCRF, settings: Any) -> None:
    """Raise if a setting without effect has been given, unless ``GraphCRF`` itself has the same value."""
    kind, usual = type(settings).__name__, type(settings)().get_params(deep=False)
    for name in _UNUSED[kind]:
        value = getattr(settings, name)
        if value != usual[name] and value != getattr(estimator, name, usual[name]):
            instead = f"give GraphCRF({name}=…)" if hasattr(estimator, name) else "leave it out"
            raise InputError(f"{kind}: {name} has no effect on graphs: {instead}")


def settings_class(potential: str) -> Any:
    """Return the estimator of chains that has the settings of a potential."""
    return KINDS[potential].estimator
