"""FASTA files: an older name of :mod:`crfkit.apps.genes.fasta`."""

from crfkit._lazy import moved_to

__getattr__ = moved_to("crfkit.apps.genes.fasta")
