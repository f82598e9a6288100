"""Training on data that is spread over the machines of a Dask cluster.

``CRF(...).fit(collection)`` takes Dask's bags, data frames and delayed partitions; ``from_files`` makes the
latter. ``collections`` finds the partitions, ``shards`` encodes them on the workers, ``vocabularies`` finds
the features of all, ``parts`` and ``cluster_sum`` are their likelihood, and ``source`` is what ``fit`` trains
on. ``candidates`` and ``mining`` do the same for ``GradientSelector`` and ``AssociationMiner``.
"""

from crfkit._lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
