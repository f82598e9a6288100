"""Scores of predicted genes: an older name of :mod:`crfkit.apps.genes.gene_scores`."""

from crfkit._lazy import moved_to

__getattr__ = moved_to("crfkit.apps.genes.gene_scores")
