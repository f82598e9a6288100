"""``crfkit convert --compact``: a small model file, and what it costs on a file of the user's."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import IntArray
from crfkit.cli.batches import read_batches
from crfkit.cli.data_file import open_data
from crfkit.cli.loading import data_record, load_linear, save_changed
from crfkit.cli.output_files import keep
from crfkit.cli.scores import conlleval_report
from crfkit.data.label_codes import LabelCodes
from crfkit.exceptions import InputError
from crfkit.models.linear.tagger import LinearTagger


class _Labelled(NamedTuple):
    """The labels of a file: by the one model, by the other, and the true ones, if there are any."""

    before: LabelCodes
    after: LabelCodes
    true: LabelCodes | None


def write_compact(tagger: LinearTagger, header: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Write the model in the compact form; print its size, and the differences on the file of ``--data``."""
    how = {"compact": True, "drop_below": arguments.drop_below or 0.0}
    keep(arguments.output, lambda path: save_changed(tagger, header, path, **how), "the compact model")
    small = load_linear(arguments.output)[0]
    lines = list(_sizes(tagger, small, arguments))
    if arguments.data is not None:  # its messages come before the table
        lines += _scores(_labelled(tagger, small, data_record(header), arguments), arguments.data)
    print("\n".join(lines))


def _sizes(tagger: LinearTagger, small: LinearTagger, arguments: argparse.Namespace) -> Iterator[str]:
    before, after = os.path.getsize(arguments.input), os.path.getsize(arguments.output)
    yield f"{'':12}{'before':>14}{'compact':>14}"
    yield f"{'bytes':12}{before:>14,}{after:>14,}   {100 * after / before:.1f} %"
    for name in ("attributes", "features"):
        yield f"{name:12}" + "".join(f"{getattr(one.index, f'n_{name}'):>14,}" for one in (tagger, small))


def _labelled(
    tagger: LinearTagger, small: LinearTagger, record: dict[str, Any] | None, arguments: argparse.Namespace
) -> _Labelled:
    """Label the data with both models."""
    arguments.known_column = None  # an option of 'crfkit tag', which reads data in the same way
    names = {str(label): i for i, label in enumerate(tagger.classes)}
    parts: list[list[Any]] = [[], [], []]  # before, after, true
    lengths: list[IntArray] = []
    for number, one in enumerate((tagger, small)):
        with open_data(arguments.data, arguments, tables=one.n_columns is not None) as data:
            for batch in read_batches(data, one, record, arguments, prompt=False):
                parts[number].append(one.decode(one.scored_under(batch.x).lattice).labels)
                arguments.quiet = True  # the format is reported once
                if number:
                    continue
                lengths.append(np.diff(batch.offsets))
                if batch.gold is not None and (batch.gold[1] >= 0).all():
                    new = np.array([names.setdefault(name, len(names)) for name in batch.gold[0]], np.int32)
                    parts[2].append(new[batch.gold[1]])
    if not lengths:
        raise InputError(f"{arguments.data}: the data is empty, so there is nothing to compare")
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    before, after = (LabelCodes(list(names), np.concatenate(ids), offsets) for ids in parts[:2])
    whole = len(parts[2]) == len(lengths)
    return _Labelled(
        before, after, LabelCodes(list(names), np.concatenate(parts[2]), offsets) if whole else None
    )


def _scores(labelled: _Labelled, path: str) -> Iterator[str]:
    differ = int((labelled.before.ids != labelled.after.ids).sum())
    if labelled.true is not None:
        reports = [conlleval_report(labelled.true, found) for found in labelled[:2]]
        for name, values in (
            ("accuracy", [100 * report.n_correct_tokens / report.n_tokens for report in reports]),
            ("F1", [report.overall.percentages[2] for report in reports]),
        ):
            before, after = values
            yield f"{name:12}{before:>12.2f} %{after:>12.2f} %   {after - before:+.2f}"
    yield f"labels differ at {differ:,} of {len(labelled.before.ids):,} tokens of {path}"
