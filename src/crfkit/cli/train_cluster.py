"""``crfkit train --dask ADDRESS``: the workers of a Dask cluster read the files and train on them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crfkit.cli.messages import UsageError
from crfkit.cli.train_data import Data, Default, Maker, read_data

if TYPE_CHECKING:
    from crfkit.models.linear.crf import CRF

# Options that the reader of a file asks for.
_READING = ("format", "separator", "label_column", "sequence_column", "no_header", "snap", "unknown")


@dataclass(frozen=True)
class ClusterData(Data):
    """Files that workers read. Only the first one is read here, for features, columns and labels."""

    first: Data | None = None
    address: str = ""
    client: Any = None

    @property
    def n_sequences(self) -> int:
        return 0  # not known here

    @property
    def n_tokens(self) -> int:
        return 0

    @property
    def n_labels(self) -> int:
        return 0 if self.first is None else self.first.n_labels

    def __str__(self) -> str:
        return f"{len(self.x):,} files, read by the workers of {self.address}"

    def close(self) -> None:
        """Leave the cluster."""
        self.client.close()


def check_cluster(arguments: argparse.Namespace) -> None:
    """Raise an error if other options contradict ``--dask``."""
    if arguments.dask is None:
        return
    if "-" in arguments.data:
        raise UsageError("--dask needs files that all workers can read, not standard input")
    for option in ("blocks", "continued", "group_column", "associations"):
        if getattr(arguments, option):
            name = {"continued": "continue"}.get(option, option.replace("_", "-"))
            raise UsageError(f"--dask and --{name} cannot be combined")


def read_partitions(
    paths: Sequence[str],
    arguments: argparse.Namespace,
    maker: Maker | None,
    crf: CRF,
    default: Default | None,
) -> tuple[Data, Maker | None]:
    """Return the files as partitions, each of which a worker will read."""
    from crfkit.distributed.cluster import Cluster
    from crfkit.distributed.collections import delayed

    first, maker = read_data(paths[:1], arguments, maker, crf, default)
    client = Cluster.connect(arguments.dask)
    settings = {name: getattr(arguments, name) for name in _READING}
    parts = [delayed(read_part, os.path.abspath(path), settings, maker) for path in paths]
    return ClusterData(
        parts, None, None, first.record, first=first, address=arguments.dask, client=client
    ), maker


def read_part(path: str, settings: dict[str, Any], maker: Maker | None) -> tuple[Any, Any, Any]:
    """Read one file: a task."""
    from crfkit.models.linear.crf import CRF

    arguments = argparse.Namespace(**settings, quiet=True, group_column=None)
    data, _ = read_data([path], arguments, maker, CRF(), None)
    return data.x, data.y, data.weights
