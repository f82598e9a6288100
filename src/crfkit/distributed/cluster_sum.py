"""The likelihood of data on a Dask cluster: every evaluation is one task per worker, and a sum.

An evaluation sends each part the weights of the features that it contains, directly to the worker that holds
it, and brings back value and gradient by these weights. With P features in all and F_s of them in part s, it
moves about Σ_s 4·F_s bytes each way, and little else. Parts are added in a fixed order: in a tree of fan-in
8 whose last step is done here, in double precision.

Workers may be lost at any time. Dask recomputes lost parts from their partitions. Tasks that it gives up
after several losses and weights that were lost with a worker are submitted again (``cluster.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, pairwise
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.distributed.cluster import Cluster
from crfkit.distributed.part_sets import enveloped, part_sets, smoothed, violated
from crfkit.distributed.parts import (
    Partial,
    Sent,
    added_up,
    evaluated,
    places_of,
    total,
    union_places,
    united,
)
from crfkit.exceptions import InputError
from crfkit.features.index import FeatureIndex
from crfkit.objectives.linear_function import LinearFunction
from crfkit.objectives.units import AttributeSizes, by_feature
from crfkit.objectives.validation_sets import Spans
from crfkit.optim.problem import Evaluation

FAN_IN = 8
TRANSPORT = np.float32  # of weights and gradients; the kernel computes scores in it anyway


class ClusterSum(LinearFunction):
    """The sum over parts on a cluster, with one parameter per feature."""

    def __init__(
        self,
        cluster: Cluster,
        parts: list[Any],
        bounds: IntArray,  # [parts+1] the first position of each part
        index: FeatureIndex,
        sizes: AttributeSizes,
        n_threads: int,
        *,
        exact: bool = False,  # weights and gradients are sent in double precision
    ) -> None:
        self._cluster, self._parts, self._index, self._sizes = cluster, parts, index, sizes
        self._bounds = bounds
        self.n_threads, self._exact = n_threads, exact
        self._n, self._n_edges = sum(index.sizes), int(index.edges.sum())
        places = [cluster.kept(places_of, part) for part in parts]
        self._places: list[IntArray] = cluster.results(lambda: places)  # of each part
        self._unions: list[list[Any]] = []  # of each level of the tree but the last, which is summed here
        while len(places) > FAN_IN:
            unions = [cluster.kept(united, *some) for some in _grouped(places)]
            self._unions.append(unions)
            places = [cluster.kept(union_places, union) for union in unions]
        self._homes = cluster.homes(parts)  # the workers that hold the parts; None: not known
        self._last: list[IntArray] = cluster.results(lambda: places) if self._unions else self._places

    @property
    def n_parameters(self) -> int:
        return len(self._index.places)

    @property
    def bytes_sent(self) -> int:
        """The bytes of weights that an evaluation sends."""
        return sum(len(places) for places in self._places) * np.dtype(TRANSPORT).itemsize

    def parameters(self, w: FloatArray) -> FloatArray:
        moved: FloatArray = self._moved(w.copy())
        return moved

    def _moved(self, w: Sent) -> Any:
        """Return the parameters of feature weights in the same memory: a copy may be large."""
        n, first = self._n_edges, self._index.sizes[0]
        w[first - n : first] = w[self._index.places[:n]]
        return w[first - n :]

    def weights(self, x: FloatArray) -> FloatArray:
        w: FloatArray = self._weights(x, np.float64)
        return w

    def _weights(self, x: FloatArray, precision: type[np.floating[Any]]) -> Any:
        n, first = self._n_edges, self._index.sizes[0]
        w = np.empty(self._n, precision)
        w[:first] = 0
        w[self._index.places[:n]] = x[:n]
        w[first:] = x[n:]
        return w

    def units(self, c2: float) -> FloatArray | None:
        units = self._sizes.units(c2)
        return None if units is None else self.parameters(by_feature(units, self._index))

    def __call__(self, x: FloatArray, *, diagonal: bool = False) -> Evaluation:
        """Return value, gradient and, if requested, an estimate of the Hessian's diagonal."""
        (value,), gradient, second = self.summed(evaluated, self._parts, x, diagonal, exact=self._exact)
        return Evaluation(float(value), gradient, second)

    def validation_sets(self, spans: Spans, margin: float) -> ClusterSets:
        own = [spans.between(first, last) for first, last in pairwise(self._bounds.tolist())]
        sets = [
            self._cluster.kept(part_sets, part, its, margin)
            for part, its in zip(self._parts, own, strict=True)
        ]
        return ClusterSets(self, sets)

    def summed(
        self, task: Callable[..., Partial], parts: list[Any], x: FloatArray, *more: Any, exact: bool = False
    ) -> tuple[FloatArray, Any, Any]:
        """Return the sums over parts of ``task(part, (its weights, *more))``: values, then derivatives [P].

        ``parts`` are this function's own, or made from them, in the same order. Weights and derivatives are
        sent in single precision, or ``exact``.
        """
        w, attempts = self._weights(x, np.float64 if exact else TRANSPORT), count()
        found = self._cluster.results(lambda: self._submitted(task, parts, w, more, next(attempts)))
        whole = total(self._n, self._last, found)
        gradient, diagonal = (
            None if one is None else self._moved(one) for one in (whole.gradient, whole.diagonal)
        )
        return whole.values, gradient, diagonal

    def _submitted(
        self, task: Callable[..., Partial], parts: list[Any], w: Sent, more: tuple[Any, ...], attempt: int
    ) -> list[Any]:
        """Send each part its weights; return the futures of the sums that are left to do here."""
        cluster = self._cluster
        if attempt or None in self._homes:  # parts have moved
            self._homes = cluster.homes(parts)
        homes = self._homes
        slices = cluster.sent([(w[places], *more) for places in self._places], homes)
        futures = [
            cluster.client.submit(
                *(task, part, own),
                pure=False,
                workers=None if home is None else [home],
                allow_other_workers=home is not None,
            )
            for part, own, home in zip(parts, slices, homes, strict=True)
        ]
        for unions in self._unions:
            futures = [
                cluster.client.submit(added_up, union, *some, pure=False)
                for union, some in zip(unions, _grouped(futures), strict=True)
            ]
        return futures


class ClusterSets:
    """The validation sets of a sum over parts: sums over the same parts."""

    def __init__(self, whole: ClusterSum, sets: list[Any]) -> None:
        self._whole, self._sets = whole, sets

    def violations(self, theta: FloatArray) -> FloatArray:
        return self._whole.summed(violated, self._sets, theta, exact=True)[0]

    def envelope(self, theta: FloatArray, coefficients: FloatArray) -> FloatArray:
        gradient: FloatArray = self._whole.summed(enveloped, self._sets, theta, coefficients, exact=True)[1]
        return gradient

    def flip(self, theta: FloatArray, coefficients: FloatArray, c: float) -> FloatArray:
        raise InputError(
            "gradient='flip' is not possible with a Dask collection, because it is no sum over sequences: "
            "take gradient='smooth' or 'envelope'"
        )

    def smoothed(
        self, theta: FloatArray, temperature: float, coefficients: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        return self._whole.summed(smoothed, self._sets, theta, temperature, coefficients)[:2]


def _grouped(some: list[Any]) -> list[list[Any]]:
    return [some[k : k + FAN_IN] for k in range(0, len(some), FAN_IN)]
