"""``crfkit eval``: compare predicted labels with the true ones."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any

from crfkit.cli import options
from crfkit.cli.label_places import Places
from crfkit.cli.messages import UsageError, show
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crfkit.data.columns import Columns
    from crfkit.data.label_codes import LabelCodes
    from crfkit.metrics import ConfusionMatrix

USAGE = "[FILE] [options]\n       crfkit eval --gold FILE --predicted FILE [options]"

DESCRIPTION = """\
Compares predicted labels with the true ones and prints the scores in the
format of conlleval. The last two columns of FILE are true and predicted label."""

EXAMPLES = """\
examples:
  crfkit tag chunks.crfkit test.txt | crfkit eval
  crfkit eval tagged.txt --per-label --confusion
  crfkit eval --gold test.txt --predicted tagged.txt --strict --scheme IOB2
  crfkit eval tagged.txt --compare other-tagged.txt         which is better?
  crfkit eval tagged.txt --bootstrap --json                 for a program

Lines that begin with -DOCSTART- are ignored; conlleval counts them as tokens."""


_PROBABILITY = re.compile(r"[01]\.[0-9]{6}")  # as ``crfkit tag`` writes it


_OPTIONS = """
  file [FILE]               tagged data (default: standard input)
the labels:
  --gold FILE               a file with the true labels in its last column
  --predicted FILE          a file with the predicted labels in its last column
  --gold-column K:int       column of the true labels, 0, 1, … or -1, -2, …
  --predicted-column K:int  column of the predicted labels
  --graphs                  FILE is graphs in JSON lines, as 'crfkit tag' writes them; shows precision, recall
      and F1 of each label
  --tabs                    columns are separated by single tabs; cells may contain blanks
scoring:
  --scheme NAME             IOB1, IOB2, IOE1, IOE2, IOBES or BILOU (default: detected from the labels, as
      conlleval does)
  --strict                  do not count segments that break the rules of the scheme
  --raw                     plain labels: score each token by itself (conlleval -r)
  --outside LABEL = O       label of tokens outside all segments (conlleval -o)
what else to show:
  --per-label               precision, recall and F1 of each label, by token
  --confusion               the confusion matrix of true and predicted labels
  --compare OTHER           another tagged file of the same data: McNemar's test and a bootstrap interval of
      the difference
  --bootstrap [N>=10]       95 %% intervals from N resamples of the sequences (default: 1000)
  --seed N>=0 = 0           seed of the resamples
  --json                    everything as JSON
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``eval``."""
    options.declare(parser, _OPTIONS, {"bootstrap": {"const": 1000}})


def run(arguments: argparse.Namespace) -> int:
    """Read both labellings, score them and print the scores."""
    _check(arguments)
    places = Places()
    true, found = _labels(arguments, places)
    with places.in_messages():
        return _scored(arguments, true, found, places)


def _scored(arguments: argparse.Namespace, true: LabelCodes, found: LabelCodes, places: Places) -> int:
    """Score the labels and print the scores."""
    from crfkit import metrics
    from crfkit.cli.scores import conlleval_report

    if arguments.graphs:
        report, per_label = metrics.token_report(true, found), None
    else:
        how = {name: getattr(arguments, name) for name in ("scheme", "strict", "raw")}
        report = conlleval_report(true, found, **how)
        per_label = metrics.token_report(true, found) if arguments.per_label else None
    confusion = metrics.confusion_matrix(true, found) if arguments.confusion else None
    sureness = None
    if arguments.bootstrap is not None or arguments.compare is not None:
        from crfkit.cli.comparison import Sureness

        other = None if arguments.compare is None else _other_labels(arguments, true, places)
        sureness = Sureness(true, found, other, arguments)
    if arguments.json:
        import json

        result: dict[str, Any] = {"n_tokens": report.n_tokens, **report.to_dict()}
        if per_label is not None:
            result["per_label"] = per_label.to_dict()["scores"]
        if confusion is not None:
            result["confusion"] = {"labels": confusion.labels, "counts": confusion.counts.tolist()}
        if sureness is not None:
            result |= sureness.to_json()
        json.dump(result, sys.stdout, ensure_ascii=False, indent=2)
        print()
        return 0
    show(report)
    if per_label is not None:
        show(f"\n{per_label}")
    if confusion is not None:
        show("\n" + "\n".join(_confusion_lines(confusion)))
    if sureness is not None:
        show("\n" + "\n".join(sureness.lines()))
    return 0


def _check(arguments: argparse.Namespace) -> None:
    if (arguments.gold is None) != (arguments.predicted is None):
        raise UsageError("--gold and --predicted must be given together")
    if arguments.gold is not None and arguments.file is not None:
        raise UsageError(f"--gold and --predicted replace FILE: leave out {arguments.file}")
    if arguments.graphs and (arguments.gold is not None or arguments.compare is not None):
        raise UsageError("--graphs takes one FILE, with 'labels' and 'predicted' in every line")
    if arguments.graphs and (arguments.strict or arguments.scheme):
        raise UsageError("--graphs: nodes have no order, so that there are no segments to score")
    if arguments.raw and (arguments.strict or arguments.scheme):
        raise UsageError("--raw scores no segments: leave out --strict and --scheme")
    file = "-" if arguments.file is None and arguments.gold is None else arguments.file
    if [file, arguments.gold, arguments.predicted, arguments.compare].count("-") > 1:
        raise UsageError("only one input can come from standard input")


def _labels(arguments: argparse.Namespace, places: Places) -> tuple[LabelCodes, LabelCodes]:
    """Return the true and the predicted labels, from one file or two."""
    outside = arguments.outside
    if arguments.graphs:
        return _labels_of_graphs(arguments)
    if arguments.gold is None:
        columns = _read(arguments.file or "-", arguments.tabs)
        if columns.n_columns < 2:
            raise InputError(
                f"{columns.source}: expected at least two columns, the true and the predicted label; got "
                f"{columns.n_columns}"
            )
        places.of = {"y_true": columns, "y_pred": columns}
        found = _or(arguments.predicted_column, _predicted(columns))
        return _codes(columns, _or(arguments.gold_column, found - 1), outside), _codes(
            columns, found, outside
        )
    gold, predicted = _read(arguments.gold, arguments.tabs), _read(arguments.predicted, arguments.tabs)
    _check_same_shape(gold, predicted)
    places.of = {"y_true": gold, "y_pred": predicted}
    true = _codes(gold, _or(arguments.gold_column, -1), outside)
    return true, _codes(predicted, _or(arguments.predicted_column, _predicted(predicted)), outside)


def _labels_of_graphs(arguments: argparse.Namespace) -> tuple[LabelCodes, LabelCodes]:
    """Return the true and the predicted labels of graphs as ``crfkit tag`` writes them."""
    from crfkit.cli.tag_graphs import known_labels
    from crfkit.data.label_codes import LabelCodes
    from crfkit.io.graph_lines import read_graphs

    path = arguments.file or "-"
    records = read_graphs(path)
    if not records:
        raise InputError(f"{path}: the file is empty, so there is nothing to score")
    for record in records:
        if record.predicted is None:
            raise InputError(f"{path}:{record.line}: the graph has no predicted labels")
    arguments.raw = True
    true = [known_labels(record, path) for record in records]
    found = [list(map(str, record.predicted or ())) for record in records]
    return LabelCodes.of(true), LabelCodes.of(found)


def _other_labels(arguments: argparse.Namespace, true: LabelCodes, places: Places) -> LabelCodes:
    """Return the other labels, after checking that sequences and true labels (if any) are the same."""
    other = _read(arguments.compare, arguments.tabs)
    if other.lengths.tolist() != [len(labels) for labels in true]:
        raise InputError(f"{other.source}: it must hold the same sequences as the labels it is compared with")
    places.of["y_b"] = other
    found = _or(arguments.predicted_column, _predicted(other))
    if arguments.gold is None:
        again = _codes(other, _or(arguments.gold_column, found - 1), arguments.outside)
        wrong = next((i for i, (a, b) in enumerate(zip(true, again, strict=True)) if a != b), None)
        if wrong is not None:
            raise InputError(
                f"{other.source}:{other.lines[other.offsets[wrong]]}: the sequence that begins here has "
                "other true labels than in the file it is compared with"
            )
    return _codes(other, found, arguments.outside)


def _predicted(columns: Columns) -> int:
    """Return the column of the predicted labels: ``predicted`` in a csv file that has it, or the last."""
    names = list(getattr(columns, "names", ()))
    return names.index("predicted") - len(names) if "predicted" in names else -1


def _or(column: int | None, default: int) -> int:
    return default if column is None else column


def _read(path: str, tabs: bool) -> Columns:
    from crfkit.io.data_file import DataFile
    from crfkit.io.formats import USUAL_TABLE

    with DataFile(path, USUAL_TABLE.name if tabs else "auto", separator="\t" if tabs else None) as file:
        if not file.format.is_table:  # labels without tokens may look like any format
            file.format = USUAL_TABLE
        columns = file.table()
    if columns.n_positions == 0:
        raise InputError(f"{columns.source}: the file is empty, so there is nothing to score")
    return columns


def _codes(columns: Columns, k: int, outside: str) -> LabelCodes:
    """Return the labels in a column, with ``outside`` renamed to O."""
    import numpy as np

    from crfkit.data.label_codes import LabelCodes

    names, ids = columns.codes(k)
    if all(_PROBABILITY.fullmatch(name) for name in names):
        raise InputError(
            f"{columns.source}: column {k} holds probabilities, not labels; name the label columns with "
            "--gold-column and --predicted-column (for output of 'crfkit tag --marginals': -3 and -2)"
        )
    place: dict[str, int] = {}
    new = np.array([place.setdefault("O" if name == outside else name, len(place)) for name in names])
    return LabelCodes(list(place), new[ids], columns.offsets)


def _check_same_shape(first: Columns, second: Columns) -> None:
    """Raise an error if two files differ in their sequence lengths, with the line of the first difference."""
    for a, b in zip(range(len(first)), range(len(second)), strict=False):
        if first.lengths[a] != second.lengths[b]:
            raise InputError(
                f"{second.source}:{second.lines[second.offsets[b]]}: the sequence that begins here has "
                f"{second.lengths[b]} tokens, but {first.lengths[a]} in {first.source} (line "
                f"{first.lines[first.offsets[a]]}); both files must hold the same sequences"
            )
    if len(first) != len(second):
        raise InputError(
            f"{second.source} has {len(second):,} sequences, {first.source} has {len(first):,}; both must "
            "hold the same ones"
        )


def _confusion_lines(confusion: ConfusionMatrix) -> Iterable[str]:
    from crfkit.cli.tables import matrix

    names = [str(label) for label in confusion.labels]
    cells = [[str(count) if count else "." for count in row] for row in confusion.counts.tolist()]
    return matrix("true \\ predicted", names, names, cells, gap="  ")
