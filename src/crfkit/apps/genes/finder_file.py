"""The gene finder in its model file. Everything in a file is checked before it is used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from crfkit.apps.genes.evidence import Evidence
from crfkit.apps.genes.grammar import DONORS
from crfkit.apps.genes.lengths import EXON_KINDS
from crfkit.apps.genes.signals import BRANCH_PLACES, BRANCH_WIDTH, SITES, BranchPoint, site_rules
from crfkit.apps.genes.structure_scores import WeightNames
from crfkit.apps.genes.surroundings import N_BINS
from crfkit.arrays import FloatArray
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays

KIND = "gene finder"
_MOST_CHAINS = 16  # each has four numbers per base of a sequence
_LARGEST = 1e4  # of log odds and weights: the score of a base then stays below 10¹⁰
_BASES = 5  # A, C, G, T, unknown


class Parts(NamedTuple):
    """What a model file holds of a gene finder."""

    evidence: Evidence
    names: WeightNames
    weights: FloatArray  # [P]
    c2: float
    n_genes: int
    objective: float


def to_parts(parts: Parts) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of the model file."""
    e = parts.evidence
    arrays: Arrays = {f"chain.{i}": table for i, table in enumerate(e.tables)}
    arrays |= {f"site.{site}": e.arrays[site] for site in SITES}
    arrays |= {
        "gc.bounds": e.gc_bounds,
        "branch.odds": e.branch.odds,
        "branch.distance": e.branch.distance,
        "start.distances": e.distances,
        "stretches": e.stretches,
        "length.exon": e.exon,
        "length.intron": e.intron,
        "weights": parts.weights,
    }
    header = {
        "model": KIND,
        "chains": len(e.tables),
        "donors": list(e.donors),
        "weight_names": parts.names.names,
        "genes": parts.n_genes,
        "objective": parts.objective,
        "c2": parts.c2,
    }
    return header, arrays


def from_parts(header: Mapping[str, Any], arrays: ModelArrays) -> Parts:
    """Return the gene finder in an opened model file."""
    if header.get("model") != KIND:
        raise arrays.wrong(f"expected a {KIND}, got {header.get('model')!r}")
    chains, donors = header.get("chains"), header.get("donors")
    if type(chains) is not int or not 1 <= chains <= _MOST_CHAINS:
        raise arrays.wrong(f"'chains' must be a whole number from 1 to {_MOST_CHAINS}, got {chains!r}")
    if not isinstance(donors, list) or not donors or not all(donor in DONORS for donor in donors):
        raise arrays.wrong(f"'donors' must be some of {', '.join(DONORS)}, got {donors!r}")
    names = WeightNames(chains)
    n_genes = header.get("genes")
    if type(n_genes) is not int or n_genes < 0:
        raise arrays.wrong(f"'genes' must be a whole number of at least 0, got {n_genes!r}")

    def take(key: str, *shape: int | None) -> FloatArray:
        array = arrays.take(key, np.float64, shape)
        if array.size == 0 and key != "gc.bounds":
            raise arrays.wrong(f"{key!r} is empty")
        if array.size and np.abs(array).max() > _LARGEST:
            raise arrays.wrong(f"{key!r} holds numbers above {_LARGEST:g}, which no training makes")
        return np.array(array)

    bounds = take("gc.bounds", None)
    if (np.diff(bounds) < 0).any():
        raise arrays.wrong("'gc.bounds' does not ascend")
    rules = site_rules()
    evidence = Evidence(
        tables=tuple(_words(take(f"chain.{i}", len(bounds) + 1, None, 4), 1, arrays) for i in range(chains)),
        gc_bounds=bounds,
        arrays={
            site: take(f"site.{site}", rules[site].before + rules[site].after, _BASES, _BASES)
            for site in SITES
        },
        branch=BranchPoint(take("branch.odds", BRANCH_WIDTH, _BASES), take("branch.distance", BRANCH_PLACES)),
        distances=take("start.distances", 2, N_BINS),
        stretches=_words(take("stretches", None, 2), 0, arrays),
        exon=take("length.exon", len(EXON_KINDS), None),
        intron=take("length.intron", None),
        donors=tuple(donors),
    )
    return Parts(
        evidence,
        names,
        take("weights", len(names)),
        _number(header, "c2", arrays),
        n_genes,
        _number(header, "objective", arrays),
    )


def _words(table: FloatArray, axis: int, arrays: ModelArrays) -> FloatArray:
    """Return a table that has one row per word of bases, of any one length."""
    n = table.shape[axis]
    if n < 4 or n & (n - 1) or n.bit_length() % 2 == 0:
        raise arrays.wrong(f"a table of words has {n} rows, expected 4, 16, 64, …")
    return table


def _number(header: Mapping[str, Any], key: str, arrays: ModelArrays) -> float:
    value = header.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise arrays.wrong(f"{key!r} must be a number, got {value!r}")
    return float(value)
