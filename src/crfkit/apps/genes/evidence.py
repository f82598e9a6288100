"""The evidence for genes at each position: the measures that a gene finder combines.

Content (Markov chains of several orders), sites (weight arrays, branch point) and lengths are estimated from
the training genes separately, as in a generative model. Their weights are trained together, by conditional
likelihood (``finder``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crfkit.apps.genes.bases import Codes
from crfkit.apps.genes.gc_classes import class_bounds, gc_classes
from crfkit.apps.genes.labels import label_ids
from crfkit.apps.genes.lengths import densities
from crfkit.apps.genes.markov import log_odds_table, look_up
from crfkit.apps.genes.signals import (
    SITES,
    BranchPoint,
    Places,
    SiteRule,
    branch_point,
    candidates,
    site_rules,
    weigh,
    weight_array,
)
from crfkit.apps.genes.surroundings import (
    distance_odds,
    start_distances,
    stretch_after,
    stretch_before,
    stretch_tables,
)
from crfkit.apps.genes.transcripts import Span
from crfkit.arrays import FloatArray

ORDERS = (2, 5)

# The measures of each site, in the order of ``Evidence.measure``: parts of its window, then others.
MEASURES = {
    "start": ("upstream side", "coding side", "5' UTR", "ATG before it", "ATG before it in frame"),
    "stop": ("surroundings", "3' UTR"),
    "donor": ("exon side", "intron side"),
    "acceptor": ("polypyrimidine tract", "intron side", "exon side", "branch point"),
}

_MARKOV_PRIOR = 30.0


@dataclass(frozen=True)
class Measured:
    """The measures of one strand of one sequence."""

    codes: Codes  # [T]
    content: FloatArray  # [D, T, 4] by D chains: coding base 0, 1, 2 of a codon, intron
    places: dict[str, Places]  # [M] of each site
    sites: dict[str, FloatArray]  # [M, d]


@dataclass(frozen=True)
class Evidence:
    """The estimated generative models."""

    tables: tuple[FloatArray, ...]  # one per chain, [G, 4^(order+1), 4]
    gc_bounds: FloatArray  # [G-1] between the classes of GC content
    arrays: dict[str, FloatArray]  # of each site, [width, 5, 5]
    branch: BranchPoint
    distances: FloatArray  # [2, bins] log odds of distances to the ATG before a start
    stretches: FloatArray  # [4^(order+1), 2] log odds of bases before starts and after stops
    exon: FloatArray  # [4, n] log densities of lengths, by kind
    intron: FloatArray  # [n]
    donors: tuple[str, ...]

    @property
    def rules(self) -> dict[str, SiteRule]:
        """Return the rule of each site."""
        return site_rules(self.donors)

    def measure(self, codes: Codes) -> Measured:
        """Return all measures of a sequence."""
        rules = self.rules
        places = {site: candidates(codes, rules[site]) for site in SITES}
        sites = {site: weigh(self.arrays[site], codes, places[site], rules[site]) for site in SITES}
        bins = start_distances(codes, places["start"])
        more = {
            "start": [stretch_before(self.stretches, codes, places["start"])]
            + [self.distances[k, bins[:, k]] for k in range(2)],
            "stop": [stretch_after(self.stretches, codes, places["stop"])],
            "acceptor": [self.branch.weigh(codes, places["acceptor"])],
        }
        for site, columns in more.items():
            sites[site] = np.concatenate((sites[site], *(column[:, None] for column in columns)), axis=1)
        classes = gc_classes(codes, self.gc_bounds)
        content = np.stack([look_up(table, codes, classes) for table in self.tables])
        return Measured(codes, content, places, sites)


def estimate(
    codes: Sequence[Codes],
    genes: Sequence[Sequence[Span]],
    *,
    longest_intron: int,
    donors: tuple[str, ...] = ("GT",),
    orders: Sequence[int] = ORDERS,
    n_gc_classes: int = 1,
) -> Evidence:
    """Estimate the models from training genes, one gene per window, in reading direction."""
    labels = [label_ids(exons, len(bases)) for exons, bases in zip(genes, codes, strict=True)]
    rules = site_rules(donors)
    bounds = class_bounds(codes, n_gc_classes)
    classes = [gc_classes(bases, bounds) for bases in codes]
    exon, intron = densities(genes, longest_intron)
    starts = [candidates(bases, rules["start"]) for bases in codes]
    true = [at == exons[0][0] for at, exons in zip(starts, genes, strict=True)]
    return Evidence(
        tables=tuple(
            log_odds_table(codes, labels, order, _MARKOV_PRIOR, classes, n_gc_classes) for order in orders
        ),
        gc_bounds=bounds,
        arrays={site: weight_array(codes, genes, site, rules[site]) for site in SITES},
        branch=branch_point(codes, genes),
        distances=distance_odds(codes, starts, true),
        stretches=stretch_tables(codes, genes, labels),
        exon=exon,
        intron=intron,
        donors=donors,
    )
