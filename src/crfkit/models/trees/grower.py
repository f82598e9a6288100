"""Growing regression trees with LightGBM: one tree per label and round, fitted to given gradients.

This is the only module that uses LightGBM. LightGBM bins the rows once and grows leaf-wise trees with a
limited number of leaves. The trees are read from its model text into a
:class:`~crfkit.potentials.forest.Forest`, which does not need LightGBM.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.sequences import inner_positions
from crfkit.data.tables import Table
from crfkit.exceptions import InputError
from crfkit.log import inform
from crfkit.optional import needed
from crfkit.potentials.forest import CATEGORY, MISSING_LEFT, SEEN_MISSING, Forest

_BATCH = 1 << 14  # rows made at a time
_MANY_CELLS = 1 << 20
_SAMPLING = {"feature_fraction", "feature_fraction_bynode", "bagging_fraction", "extra_trees"}
_SEEDS = {
    *("seed", "random_seed", "random_state", "bagging_seed", "bagging_fraction_seed"),
    *("feature_fraction_seed", "extra_seed"),
}
_MISSING_NAN = 2  # LightGBM's missing type of a split with missing values in training


def lightgbm() -> Any:
    """Return the library; if it is not installed, raise an error with the command to install it."""
    library = needed("lightgbm", "training a TreeCRF", more=". Fitted models do not need it")
    global _watched
    if not _watched and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_note_fork)
        _watched = True
    return library


# LightGBM's threads (OpenMP's) do not survive a fork: in the child, the first loop on several threads would
# wait for them for ever. Such a child grows its trees on one thread; they are the same trees.
_watched = _forked = False


def _note_fork() -> None:
    global _forked
    _forked = True


def _one_thread(library: Any) -> None:
    """Let OpenMP's loops start no threads, also those that ignore LightGBM's own setting."""
    try:
        library.basic._LIB.omp_set_num_threads(1)
    except AttributeError as error:
        raise InputError(
            "this process was forked from one that has used LightGBM, whose threads do not survive that: "
            "start it by multiprocessing's method 'spawn' or 'forkserver', or fit no TreeCRF before the fork"
        ) from error


class _Log:
    """Takes LightGBM's messages to crfkit's log."""

    def info(self, message: str) -> None:
        inform("training", "%s", message.strip())

    warning = info


@contextlib.contextmanager
def own_log(library: Any) -> Iterator[None]:
    """Let LightGBM write to crfkit's log, not to standard output, while it works for crfkit."""
    names = ("_LOGGER", "_INFO_METHOD_NAME", "_WARNING_METHOD_NAME")
    before = {name: getattr(library.basic, name) for name in names if hasattr(library.basic, name)}
    if len(before) == len(names):
        library.register_logger(_Log())
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(library.basic, name, value)


# Settings that TreeCRF relies on: LightGBM's parameter with its aliases, and the required value.
_RELIED_ON: dict[tuple[str, ...], Any] = {
    ("objective", "objective_type", "app", "application", "loss"): "none",
    ("boosting", "boosting_type", "boost"): "gbdt",
    ("num_class", "num_classes"): None,
    ("linear_tree", "linear_trees"): False,
    ("zero_as_missing",): False,
    ("use_missing",): True,
}


@dataclass(frozen=True)
class GrowthSettings:
    """Settings for growing trees."""

    n_leaves: int
    learning_rate: float
    min_samples_leaf: int
    l2: float
    subsample: float
    colsample: float
    seed: int
    n_threads: int
    more: Mapping[str, Any]  # LightGBM's own parameters, which take precedence

    def __post_init__(self) -> None:
        """Raise if LightGBM's parameters would give trees that crfkit cannot use."""
        for names, value in _RELIED_ON.items():
            for name in names:
                if name in self.more and (value is None or self.more[name] != value):
                    only = "it is the number of labels" if value is None else f"it must stay {value!r}"
                    raise InputError(f"lightgbm_params: {name}={self.more[name]!r} is not possible: {only}")

    @property
    def is_sampled(self) -> bool:
        """Whether a tree sees a random part of the rows or columns."""
        return self.subsample < 1 or self.colsample < 1 or bool(_SAMPLING & set(self.more))

    @staticmethod
    def seeded(parameters: Mapping[str, Any], draw: int) -> dict[str, Any]:
        """Return LightGBM's parameters with the seeds of one draw; rows change every bagging_freq draws."""

        def mixed(seed: int, number: int) -> int:
            return int(np.random.SeedSequence([abs(seed), number]).generate_state(1)[0] >> 1)

        seeds = {"bagging_seed": parameters["seed"], "feature_fraction_seed": parameters["seed"] + 1}
        seeds |= {name: seed for name, seed in parameters.items() if name in _SEEDS}
        period = max(1, int(parameters["bagging_freq"]))
        return {
            **parameters,
            **{
                name: mixed(int(seed), draw // period if name.startswith("bagging") else draw)
                for name, seed in seeds.items()
            },
        }

    def to_lightgbm(self, n_labels: int) -> dict[str, Any]:
        """Return LightGBM's parameters. Categories get little smoothing, because windows have few of each."""
        return {
            "objective": "none",
            "num_class": n_labels,
            "num_leaves": self.n_leaves,
            "learning_rate": self.learning_rate,
            "min_data_in_leaf": self.min_samples_leaf,
            "min_sum_hessian_in_leaf": 1e-3,
            "lambda_l2": self.l2,
            "bagging_fraction": self.subsample,
            "bagging_freq": int(self.subsample < 1),
            "feature_fraction": self.colsample,
            "min_data_per_group": self.min_samples_leaf,
            "cat_smooth": 1.0,
            "cat_l2": 1.0,
            "max_cat_to_onehot": 4,
            "min_data_in_bin": 1,
            "feature_pre_filter": False,
            "seed": self.seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": self.n_threads,
            "verbosity": -1,
            **self.more,
        }


@dataclass(frozen=True)
class TrainingRows:
    """The rows that trees are grown on: the window of every position, with context once per previous label.

    With ``context``, the rows of first positions come first, with L as previous label; then those of all
    other positions, position by position, label by label.
    """

    table: Table
    window: tuple[int, int]  # positions before and after
    n_labels: int
    context: bool
    positions: IntArray | None = None  # without context: only these positions
    _first: IntArray = field(init=False)  # with context: first positions
    _rest: IntArray = field(init=False)  # and the others

    def __post_init__(self) -> None:
        inner = inner_positions(self.table.offsets) if self.context else np.empty(0, np.bool_)
        object.__setattr__(self, "_first", np.flatnonzero(~inner))
        object.__setattr__(self, "_rest", np.flatnonzero(inner))

    def __len__(self) -> int:
        if not self.context:
            return len(self.table.values) if self.positions is None else int(self.positions.size)
        return int(self._first.size) + self.n_labels * int(self._rest.size)

    @property
    def n_features(self) -> int:
        return (sum(self.window) + 1) * int(self.table.values.shape[1]) + int(self.context)

    def block(self, start: int, stop: int) -> FloatArray:
        """Return the rows start..stop-1, [stop-start, n_features]."""
        rows = np.arange(start, min(stop, len(self)))
        if not self.context:
            return self.table.windows(rows if self.positions is None else self.positions[rows], *self.window)
        behind = rows - len(self._first)
        inner = behind >= 0
        positions = np.empty(len(rows), np.int64)
        positions[~inner] = self._first[rows[~inner]]
        positions[inner] = self._rest[behind[inner] // self.n_labels]
        before = np.where(inner, behind % self.n_labels, self.n_labels)
        return np.column_stack([self.table.windows(positions, *self.window), before])


class TreeGrower:
    """Grows one tree per label and round for gradients of the rows."""

    def __init__(self, rows: TrainingRows, categories: list[int], settings: GrowthSettings) -> None:
        library = lightgbm()
        self._rows = rows
        self._parameters, self._settings = settings.to_lightgbm(rows.n_labels), settings
        if len(rows) * rows.n_features < _MANY_CELLS:  # threads would wait for each other
            self._parameters["num_threads"] = 1
        if _forked:
            _one_thread(library)
            self._parameters["num_threads"] = 1
        n_columns = rows.table.values.shape[1]
        width = sum(rows.window) + 1
        categorical = [place * n_columns + k for place in range(width) for k in categories]
        if rows.context:
            categorical.append(width * n_columns)
        self._library = library
        try:
            self._build(library, categorical)
        except library.basic.LightGBMError as error:
            raise InputError(f"LightGBM rejects the data or its parameters: {error}") from error

    def _build(self, library: Any, categorical: list[int]) -> None:
        rows, settings = self._rows, self._settings
        with own_log(library):
            self._data = library.Dataset(
                _as_sequence(library, rows),
                categorical_feature=categorical or "auto",
                params=self._parameters,
            )
            self._booster = library.Booster(self._parameters, self._data)
            self._renewed = library.Booster if settings.is_sampled else None
            # If all rows are the same, LightGBM fails instead of growing no trees.
            self._differ = any(self._data.feature_num_bin(k) > 1 for k in range(rows.n_features))

    def grow(self, gradient: FloatArray, hessian: FloatArray, draw: int = 0) -> Forest | None:
        """Return the trees of one more round; None if no split reduces the objective.

        gradient and hessian [rows, L] are those of the objective to minimise. ``draw`` counts the calls: each
        sees other samples of rows and columns, which depend on nothing else, so that training can continue
        from a checkpoint.
        """
        if not self._differ:
            return None
        if self._renewed is not None:
            with own_log(self._library):
                self._booster = self._renewed(self._settings.seeded(self._parameters, draw), self._data)
        given = [np.asarray(array, np.float32) for array in (gradient, hessian)]
        if self._rows.n_labels == 1:
            given = [array.reshape(-1) for array in given]  # LightGBM's shape for a single class
        with own_log(self._library):
            finished = self._booster.update(fobj=lambda _scores, _data: (given[0], given[1]))
        if finished:
            return None
        # Use LightGBM's count: it includes a first round that could not split, but no later ones.
        last = self._booster.current_iteration() - 1
        text = self._booster.model_to_string(num_iteration=1, start_iteration=last)
        return read_trees(text, self._rows.n_features, self._rows.n_labels, self._rows.context)


def _as_sequence(library: Any, rows: TrainingRows) -> Any:
    """Return the rows as a LightGBM sequence computed on demand, so that not all are in memory."""

    class Batches(library.Sequence):  # type: ignore[misc]
        batch_size = _BATCH

        def __init__(self) -> None:
            self._kept: tuple[int, FloatArray] = (-1, np.empty((0, 0)))

        def __len__(self) -> int:
            return len(rows)

        def __getitem__(self, index: Any) -> FloatArray:
            if isinstance(index, slice):
                return rows.block(index.start, index.stop)
            number = int(index) // _BATCH  # a sample comes row by row, in order
            if self._kept[0] != number:
                self._kept = number, rows.block(number * _BATCH, (number + 1) * _BATCH)
            row: FloatArray = self._kept[1][int(index) % _BATCH]
            return row

    return Batches()


# ---- LightGBM's model text


def read_trees(text: str, n_features: int, n_labels: int, context: bool) -> Forest:
    """Return the trees in a model text of LightGBM. Tree m adds to label m mod L.

    If training had no missing numbers at a node, a missing number goes to the larger child.
    """
    forests = [
        _read_tree(dict(line.split("=", 1) for line in part.split("\n") if "=" in line))
        for part in text.split("\nend of trees")[0].split("\nTree=")[1:]
    ]
    whole = Forest.end_to_end([Forest.empty(n_features, n_labels, context), *forests])
    return whole.relabelled((np.arange(len(forests)) % n_labels).astype(np.int32))


def _numbers(fields: Mapping[str, str], name: str, dtype: type[np.generic]) -> npt.NDArray[Any]:
    text = fields.get(name, "").split()
    return np.array(text, dtype=np.float64).astype(dtype) if text else np.empty(0, dtype)


def _read_tree(fields: Mapping[str, str]) -> Forest:
    leaf = _numbers(fields, "leaf_value", np.float64)
    decision = _numbers(fields, "decision_type", np.uint8)
    left, right = _numbers(fields, "left_child", np.int32), _numbers(fields, "right_child", np.int32)
    inner_count = _numbers(fields, "internal_count", np.int64)
    leaf_count = _numbers(fields, "leaf_count", np.int64)
    if not len(left):  # a tree that does not split
        leaf_count = np.zeros(len(leaf), np.int64)

    def count(child: IdArray) -> IntArray:
        inner = inner_count[np.maximum(child, 0)] if len(inner_count) else np.empty(0, np.int64)
        return np.where(child >= 0, inner, leaf_count[np.maximum(~child, 0)])

    category = (decision & 1) == 1
    default_left = (decision & 2) == 2
    seen_missing = (decision >> 2 & 3) == _MISSING_NAN
    majority_left = count(left) >= count(right)
    missing_left = np.where(seen_missing, default_left, majority_left) & ~category
    flags = np.where(category, CATEGORY, 0) | np.where(missing_left, MISSING_LEFT, 0)
    flags |= np.where(seen_missing, SEEN_MISSING, 0)
    sets = _numbers(fields, "cat_boundaries", np.int64)
    return Forest(
        _numbers(fields, "split_feature", np.int32),
        _numbers(fields, "threshold", np.float64),
        flags.astype(np.uint8),
        left,
        right,
        _numbers(fields, "split_gain", np.float32),
        sets if len(sets) else np.zeros(1, np.int64),
        _numbers(fields, "cat_threshold", np.uint32),
        leaf,
        leaf_count,
        np.array([0 if len(left) else -1], np.int32),
        np.zeros(1, np.int32),
        0,
        1,
        False,
    )
