"""Inference on lattices: given scores for labels and for transitions, everything a chain can answer.

A :class:`Lattice` holds the scores of a batch of sequences; the functions here are pure, take a lattice and
return arrays or named results. Where the scores come from (a linear model, trees, a neural network) does not
matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crfkit._lazy import lazy_names

if TYPE_CHECKING:
    from crfkit.inference.constraints import (
        Constraints,
        constrain,
        force_where_possible,
        forced_labels,
        partial_log_likelihood,
        permitted_labels,
    )
    from crfkit.inference.expected_gain import max_expected_gain
    from crfkit.inference.lattice import Lattice
    from crfkit.inference.paths import NBest, Path, nbest, path_score, sample, viterbi
    from crfkit.inference.permitted_pairs import PermittedPairs
    from crfkit.inference.posterior import (
        Expectations,
        ExpectedCounts,
        Marginals,
        MaxMarginal,
        entropy,
        expectations,
        expected_counts,
        log_partition,
        marginals,
        max_marginal,
    )
    from crfkit.inference.rules import rule_constraints
    from crfkit.inference.schemes import scheme_constraints, seen_constraints

__all__ = [
    "Constraints",
    "Expectations",
    "ExpectedCounts",
    "Lattice",
    "Marginals",
    "MaxMarginal",
    "NBest",
    "Path",
    "PermittedPairs",
    "constrain",
    "entropy",
    "expectations",
    "expected_counts",
    "force_where_possible",
    "forced_labels",
    "log_partition",
    "marginals",
    "max_expected_gain",
    "max_marginal",
    "nbest",
    "partial_log_likelihood",
    "path_score",
    "permitted_labels",
    "rule_constraints",
    "sample",
    "scheme_constraints",
    "seen_constraints",
    "viterbi",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Constraints": "crfkit.inference.constraints",
        "Expectations": "crfkit.inference.posterior",
        "ExpectedCounts": "crfkit.inference.posterior",
        "Lattice": "crfkit.inference.lattice",
        "Marginals": "crfkit.inference.posterior",
        "MaxMarginal": "crfkit.inference.posterior",
        "NBest": "crfkit.inference.paths",
        "Path": "crfkit.inference.paths",
        "PermittedPairs": "crfkit.inference.permitted_pairs",
        "constrain": "crfkit.inference.constraints",
        "entropy": "crfkit.inference.posterior",
        "expectations": "crfkit.inference.posterior",
        "expected_counts": "crfkit.inference.posterior",
        "force_where_possible": "crfkit.inference.constraints",
        "forced_labels": "crfkit.inference.constraints",
        "log_partition": "crfkit.inference.posterior",
        "marginals": "crfkit.inference.posterior",
        "max_expected_gain": "crfkit.inference.expected_gain",
        "max_marginal": "crfkit.inference.posterior",
        "nbest": "crfkit.inference.paths",
        "partial_log_likelihood": "crfkit.inference.constraints",
        "path_score": "crfkit.inference.paths",
        "permitted_labels": "crfkit.inference.constraints",
        "rule_constraints": "crfkit.inference.rules",
        "sample": "crfkit.inference.paths",
        "scheme_constraints": "crfkit.inference.schemes",
        "seen_constraints": "crfkit.inference.schemes",
        "viterbi": "crfkit.inference.paths",
    },
)
