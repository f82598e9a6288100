"""Annotations of genomes: an older name of :mod:`crfkit.apps.genes.gff`."""

from crfkit._lazy import moved_to

__getattr__ = moved_to("crfkit.apps.genes.gff")
