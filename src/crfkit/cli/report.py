"""``crfkit report``: an HTML page about a model on labelled data."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from crfkit.cli import options
from crfkit.cli.messages import UsageError, note
from crfkit.cli.output_files import check_outputs, keep
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.io.data_file import DataFile
    from crfkit.model_selection.labelled_sequences import LabelledSequences
    from crfkit.models.fitted_model import FittedModel

USAGE = "MODEL DATA -o PAGE [options]"

DESCRIPTION = """\
Writes an HTML page about a model on labelled data: how good it is, where it
errs and why, and what it has learnt. One file; making it needs Jinja2."""

EXAMPLES = """\
examples:
  crfkit report chunks.crfkit test.txt -o report.html
  crfkit report chunks.crfkit test.txt -o report.html --train train.txt
  crfkit report chunks.crfkit test.txt -o report.html --compare old.crfsuite

The data must not be the training data. --train adds a learning curve: five
models are trained, which takes about twice the time of training one."""

_OPTIONS = f"""
  model MODEL               a model of crfkit, CRFsuite, Wapiti or CRF++
  data DATA                 labelled data that the model was not trained on
  -o, --output PAGE!        the page to write; - is standard output
what it shows:
  --train FILE              training data: for a learning curve, and to tell which words are new
  --compare OTHER           another model on the same data: what each has right alone, McNemar's test
  --title TEXT              title of the page (default: the names of model and data)
  --scheme NAME             scheme of the labels: IOB1, IOB2, IOE1, IOE2, IOBES or BILOU (default: told by
      their tags; labels without tags are scored position by position)
  --sentences N>=0 = 150    most sequences with mistakes on the page
  --resamples N>=10 = 1000  resamples of the sequences, for the 95 %% intervals
  --seed N>=0 = 0           seed of the resamples and of the learning curve
the data:
{options.formats()}
{options.label_column("as in training")}
{options.template("for models without a template: turns columns into attributes")}
{options.JOBS}
{options.QUIET}
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``report``."""
    options.declare(parser, _OPTIONS)


def run(arguments: argparse.Namespace) -> int:
    """Read model and data, and write the page."""
    inputs = [arguments.model, arguments.data, arguments.train, arguments.compare, arguments.template]
    check_outputs(arguments, [arguments.output], inputs)
    if inputs.count("-") > 1:
        raise UsageError("only one input can come from standard input")
    if arguments.compare is not None and "-" in (arguments.data, arguments.train):
        raise UsageError("--compare reads the data twice: name a file instead of standard input")
    from crfkit.report.frame import check_engine

    check_engine("crfkit report")
    from crfkit.report.model_report import Plan, Side, make_report

    model = _open(arguments.model, arguments)
    side = Side(model.estimator, _read(arguments.data, model, arguments), _short(arguments.model))
    train = None if arguments.train is None else _read(arguments.train, model, arguments)
    other = None
    if arguments.compare is not None:
        second = _open(arguments.compare, arguments)
        other = Side(second.estimator, _read(arguments.data, second, arguments), _short(arguments.compare))
    title = arguments.title or f"{_short(arguments.model)} on {_short(arguments.data)}"
    plan = Plan(
        title,
        train,
        other,
        None,
        arguments.scheme,
        arguments.sentences,
        arguments.resamples,
        arguments.seed,
        (lambda words: None) if arguments.quiet else note,
    )
    made = make_report(side, plan)
    keep(arguments.output, made.save, "the report")
    if not arguments.quiet:
        note(made.summary)
        if arguments.output != "-":
            note(f"written to {arguments.output}, {len(made.html.encode()) / 1e6:,.1f} MB")
    return 0


def _short(path: str) -> str:
    return "standard input" if path == "-" else os.path.basename(path)


class _Model(NamedTuple):
    """A fitted estimator, and what its file records about the training data."""

    estimator: Any
    record: dict[str, Any] | None

    @property
    def tagger(self) -> FittedModel:
        found: FittedModel = self.estimator._fitted()
        return found


def _open(path: str, arguments: argparse.Namespace) -> _Model:
    from crfkit.cli.loading import data_record, model_source
    from crfkit.io.model_file import read_model
    from crfkit.io.model_formats import OWN, model_format
    from crfkit.models.loading import load

    source = model_source(path)
    found = _Model(load(source, n_jobs=arguments.jobs), None)
    if model_format(source) == OWN:
        header, _ = read_model(source, mmap=True, verify=False)
        found = found._replace(record=data_record(header))
    if arguments.template is not None and found.tagger.n_columns is None:
        from crfkit.cli.tag import add_template

        add_template(found.tagger, arguments)
    return found


def _read(path: str, model: _Model, arguments: argparse.Namespace) -> LabelledSequences:
    """Return labelled data in the form that a model takes."""
    from crfkit.cli.data_file import open_data
    from crfkit.io.formats import names_of
    from crfkit.model_selection.labelled_sequences import LabelledSequences

    tagger = model.tagger
    with open_data(path, arguments, tables=tagger.n_columns is not None, record=model.record) as file:
        if file.format.is_table and tagger.n_columns is None:
            raise InputError(
                f"{file.name}: the model has no template to turn {file.format.name} into attributes: give "
                f"one with --template, or give data with attributes (--format {names_of(tables=False)})"
            )
        X, y = (_cells if file.format.is_table else _attributes)(file, model, arguments)
    if not any(label is not None for labels in y for label in labels):
        raise InputError(f"{path}: a report needs true labels, but the data has none")
    known = {str(label): label for label in tagger.classes}  # labels of a model may be numbers
    return LabelledSequences.of(X, [[known.get(label, label) for label in labels] for labels in y])


def _cells(file: DataFile, model: _Model, arguments: argparse.Namespace) -> tuple[Any, list[list[Any]]]:
    from crfkit.cli.column_roles import column_title, tagging_roles
    from crfkit.cli.data_file import say

    table = file.table()
    if table.n_positions == 0:
        raise InputError(f"{file.name}: the file is empty")
    roles = tagging_roles(table, model.tagger.n_columns or 0, model.record, arguments.label_column, None)
    if roles.label is None:
        raise InputError(
            f"{file.name}: a report needs true labels, but its {table.ids.shape[1]} columns are those that "
            "the model labels from; if one holds labels, name it with --label-column"
        )
    if not arguments.quiet:
        say(file, f", {table.ids.shape[1]} per row, true labels in column {column_title(table, roles.label)}")
    return roles.for_template(table), table.column(roles.label)


def _attributes(file: DataFile, model: _Model, arguments: argparse.Namespace) -> tuple[Any, list[list[Any]]]:
    from crfkit.cli.data_file import say
    from crfkit.data.sequences import Encoded
    from crfkit.data.vocabulary import Vocabulary
    from crfkit.models.linear.tagger import LinearTagger

    if not isinstance(model.tagger, LinearTagger):
        raise InputError(
            f"{file.name}: {file.format.name} data has sparse attributes, but the model needs columns"
        )
    vocabulary = Vocabulary()
    examples = file.examples(vocabulary, grow=True)
    if not arguments.quiet:
        say(file, "")
    return Encoded(examples.sequences, vocabulary), examples.labels
