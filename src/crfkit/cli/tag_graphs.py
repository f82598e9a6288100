"""``crfkit tag`` with a model of graphs: JSON lines in, the same lines with predicted labels out."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from crfkit.cli.messages import UsageError
from crfkit.exceptions import InputError
from crfkit.io.writing import open_output

if TYPE_CHECKING:
    from crfkit.io.graph_lines import GraphRecord
    from crfkit.models.graphs.tagger import GraphTagger

# Options of ``tag`` that go with graphs; the others are refused if they are given.
_USED = ("model", "input", "output", "posterior", "marginals", "eval", "jobs", "quiet", "flush")
_ABOUT = re.compile(r"(?P<dev>in the dev set: )?graph (?P<number>\d+)(?P<mark>[:,])? (?P<rest>.*)", re.DOTALL)
_LIKE = re.compile(r"(?<=\blike )graph (\d+)\b")
_TOGETHER = 200  # graphs that are labelled at once


def tag_graphs(arguments: argparse.Namespace, defaults: argparse.Namespace, tagger: GraphTagger) -> int:
    """Label the graphs of a file."""
    for name, value in vars(defaults).items():
        if name not in _USED and getattr(arguments, name) != value:
            raise UsageError(f"--{name.replace('_', '-')} does not go with a model of graphs")
    true: list[list[Any]] = []
    found: list[list[Any]] = []
    with open_output(arguments.output) as file:
        for records in _together(arguments.input, 1 if arguments.flush else _TOGETHER):
            graphs = [record.graph for record in records]
            with lines_in_messages([f"{arguments.input}:{record.line}" for record in records]):
                labels = tagger.predict_posterior(graphs) if arguments.posterior else tagger.predict(graphs)
                given = tagger.predict_marginals(graphs) if arguments.marginals else [None] * len(records)
            for record, own, probabilities in zip(records, labels, given, strict=True):
                file.write(_line(record, own, probabilities, arguments.marginals))
            if arguments.flush:
                file.flush()
            if arguments.eval:
                true += [known_labels(record, arguments.input) for record in records]
                found += [list(map(str, own)) for own in labels]
    if arguments.eval:
        _report(true, found)
    return 0


@contextmanager
def lines_in_messages(lines: Sequence[str], dev: Sequence[str] = ()) -> Iterator[None]:
    """Let messages about a graph name its file and line: those of the graphs, and of the held-out ones."""
    try:
        yield
    except InputError as error:
        found = _ABOUT.match(str(error))
        if found is None:
            raise
        where = dev if found["dev"] else lines
        rest = _LIKE.sub(lambda other: where[int(other[1])], found["rest"])
        text = rest if found["mark"] else f"the graph {rest}"
        raise InputError(f"{where[int(found['number'])]}: {text}") from error


def known_labels(record: GraphRecord, path: str) -> list[str]:
    """Return the true labels of a graph as text; raise if one is not known."""
    if record.labels is None or any(label is None or isinstance(label, list) for label in record.labels):
        raise InputError(f"{path}:{record.line}: the graph needs a true label of every node to be scored")
    return list(map(str, record.labels))


def _together(path: str, count: int) -> Iterator[list[GraphRecord]]:
    from crfkit.io.graph_lines import stream_graphs

    graphs = stream_graphs(path)
    while records := list(islice(graphs, count)):
        yield records


def _line(record: GraphRecord, labels: list[Any], probabilities: Any, how: str | None) -> bytes:
    from crfkit.io.graph_lines import labelled_line

    if probabilities is None:
        return labelled_line(record, labels)
    shown: list[Any] = [round(row[label], 6) for row, label in zip(probabilities, labels, strict=True)]
    if how == "all":
        shown = [{str(label): round(p, 6) for label, p in row.items()} for row in probabilities]
    return labelled_line(record, labels, {"probabilities": shown})


def _report(true: list[list[Any]], found: list[list[Any]]) -> None:
    import sys

    from crfkit.metrics import token_report

    if not true:
        raise InputError("--eval: the data is empty, so there is nothing to score")
    print(token_report(true, found), file=sys.stderr)
