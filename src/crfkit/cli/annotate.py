"""``crfkit annotate``: label sentences on a local page, with a model that learns from the answers."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from crfkit.cli import options
from crfkit.cli.data_file import open_data, say
from crfkit.cli.messages import UsageError, note, show, warn
from crfkit.cli.output_files import check_outputs, keep
from crfkit.exceptions import InputError
from crfkit.io.formats import names_of

if TYPE_CHECKING:
    from crfkit.annotate.session import Session
    from crfkit.annotate.store import Store
    from crfkit.annotate.tag_set import TagSet
    from crfkit.data.columns import Columns
    from crfkit.io.data_file import DataFile
    from crfkit.models.linear.crf import CRF

USAGE = "DATA [-m MODEL | --labels A,B,…] [-o FILE] [options]"

DESCRIPTION = """\
Shows the sentences that a model is least sure of on a local web page, proposes
labels, learns from corrections. Every answer is written at once."""

EXAMPLES = """\
examples:
  crfkit annotate news.txt -m names.crfkit
  crfkit annotate news.txt --labels PER,LOC,ORG             without a model
  crfkit annotate words.txt --labels NOUN,VERB,X --scheme none
  crfkit annotate news.txt -m names.crfkit --save-model better.crfkit
  crfkit annotate news.txt --export labelled.txt

The page is only seen on this computer. Ctrl-C ends it; the same command goes on
where you have stopped. Keys on the page: arrows, Shift with arrows, the key on
a label, Enter to accept, z to undo, u for unknown, ? for help."""

_OPTIONS = f"""
  data DATA                 sentences, with or without labels, which are not used
the model and the labels:
  -m, --model MODEL         a linear model of crfkit, CRFsuite, Wapiti or CRF++ to begin with
  --labels A,B,…            names of the labels: all of them if there is no model, else more than the model's
  --scheme NAME = auto      how segments become labels: IOB2, IOB1, IOE2, IOE1, IOBES or BILOU; none: every
      token has a label of its own; auto: as the labels look, else IOB2
{options.template("for models without a template, and without a model instead of the default features")}
the sentences:
  --order total|token|random = total  which sentences come first: total: the model is least sure of the whole
      sentence (fewest sentences to label); token: least sure per token (fewest tokens); random
  --every N>=1 = 10         answers after which the model learns again
  --seed N>=0 = 0           seed of the random sample
{options.formats()}
{options.label_column("as in training; without a model there is none")}
what to write:
  -o, --output FILE         answers; if it exists, go on from there (default: DATA.annotations.jsonl)
  --export FILE             write all answers so far as a column file (CoNLL), and end; unknown labels are '_'
      (crfkit train --unknown _)
  --save-model FILE         at the end, write the model that has learnt from all answers
the page:
  --port N>=0 = 0           port on 127.0.0.1; 0: any that is free
  --no-browser              only print the address
{options.JOBS}
{options.QUIET}
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``annotate``."""
    options.declare(parser, _OPTIONS)


def run(arguments: argparse.Namespace) -> int:
    """Read the model, the data and earlier answers, and serve the page until Ctrl-C."""
    from crfkit.annotate.server import check_libraries

    if arguments.output is None:
        if arguments.data == "-":
            raise UsageError("the data is standard input: name the file of answers with -o")
        arguments.output = f"{arguments.data}.annotations.jsonl"
    inputs = [arguments.data, arguments.model, arguments.template]
    check_outputs(arguments, [arguments.output, arguments.export, arguments.save_model], inputs)
    arguments.earlier.pop(arguments.output, None)  # that the answers are as they were needs no message
    if arguments.export is not None:
        return _export(arguments)
    check_libraries()
    crf, record, columns, names = _read(arguments)
    store = _open_store(arguments, _tags(arguments, crf, names))
    try:
        session = _session(arguments, store, columns, crf)
        _serve(session, arguments)
        if arguments.save_model is not None:
            _save(session, record, arguments)
    finally:
        store.close()
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from crfkit.annotate.store import Store, conll
    from crfkit.io.writing import open_output

    store = Store(arguments.output, None)
    try:
        text = conll(store.answers)
    finally:
        store.close()
    with open_output(arguments.export) as file:
        file.write(text)
    if not arguments.quiet:
        n = sum(label is None for answer in store.answers for label in answer.labels)
        unknown = f"; {n:,} unknown labels are '_'" if n else ""
        note(f"{len(store.answers):,} sentences of {store.path} written to {arguments.export}{unknown}")
    return 0


# ---- the model, the data and the labels


def _read(arguments: argparse.Namespace) -> tuple[CRF, dict[str, Any], Columns, list[str]]:
    """Return the estimator, the record of its data, the sentences, and label names seen in the data."""
    from crfkit.cli.column_roles import Roles, tagging_roles
    from crfkit.models.linear.crf import CRF

    tagger, record = None, None
    if arguments.model is not None:
        from crfkit.cli.loading import data_record, load_linear
        from crfkit.cli.tag import add_template

        tagger, header = load_linear(arguments.model, arguments.jobs)
        record = data_record(header)
        if arguments.template is not None:
            add_template(tagger, arguments)
        if tagger.n_columns is None:
            raise InputError(
                f"{arguments.model} has no template to turn columns into attributes: give one with --template"
            )
    with open_data(arguments.data, arguments, tables=True, record=record) as file:
        if not file.format.is_table:
            raise InputError(
                f"{file.name}: {file.format.name} data has attributes, but the page shows tokens: give a "
                f"table ({names_of(tables=True)})"
            )
        table = file.table()
    if table.n_positions == 0:
        raise InputError(f"{file.name}: there are no sentences")
    if tagger is not None and tagger.n_columns is not None:
        roles = tagging_roles(table, tagger.n_columns, record, arguments.label_column, None)
    else:
        roles = Roles(_label_place(file, table, arguments.label_column))
    columns = roles.for_template(table)
    names = [] if roles.label is None else sorted(table.codes(roles.label)[0])
    if not arguments.quiet:
        _say_columns(file, table, roles.label)
    if tagger is None:
        return _new_model(arguments, columns), _record(file, table, columns), columns, names
    crf = CRF(n_jobs=arguments.jobs, order=tagger.index.order, extractor=tagger.extraction)
    edge_attributes = (header.get("params") or {}).get("edge_attributes")
    crf.set_params(template=tagger.template, edge_attributes=edge_attributes)
    crf.tagger_ = tagger
    return crf, record or _record(file, table, columns), columns, names


def _label_place(file: DataFile, table: Columns, named: str | None) -> int | None:
    """Return the column of labels in data for a new model: the one that is named, or the format's."""
    from crfkit.cli.column_roles import column_place

    if named == "none":
        return None
    if "label_column" in dict(file.format.options):  # the format puts labels into the last column, if any
        return table.n_columns - 1 if table.n_columns > 1 else None
    return None if named is None else column_place(table, named, "--label-column")


def _say_columns(file: DataFile, table: Columns, label: int | None) -> None:
    from crfkit.cli.column_roles import column_title

    words = f", {len(table):,} sentences, {table.n_positions:,} tokens, {table.n_columns} columns"
    if label is not None:
        words += f"; the labels in column {column_title(table, label)} are not used"
    say(file, words)


def _record(file: DataFile, table: Columns, columns: Columns) -> dict[str, Any]:
    """Return what a new model records of its table: ``columns``, and the label behind them."""
    record: dict[str, Any] = {"columns": columns.n_columns + 1, "label_column": columns.n_columns}
    if hasattr(columns, "names"):
        record["names"] = [*columns.names, "label"]
    if file.options.get("sequence_column") is not None:
        record["sequence_column"] = file.options["sequence_column"]
    if getattr(table, "tokenizer", None) is not None:
        record["tokenizer"] = table.tokenizer  # type: ignore[attr-defined]
    return record


def _new_model(arguments: argparse.Namespace, columns: Columns) -> CRF:
    from crfkit.annotate.learner import new_model
    from crfkit.cli.train_data import read_template, word_features

    template = read_template(arguments)
    if template is not None:
        return new_model(None, arguments.jobs).set_params(template=template)
    return new_model(word_features(columns, arguments), arguments.jobs)


def _tags(arguments: argparse.Namespace, crf: CRF, names: list[str]) -> TagSet | None:
    """Return the labels of the model and of the options; None: those of the file of answers."""
    from crfkit.annotate.tag_set import TagSet

    given = [name.strip() for name in (arguments.labels or "").split(",") if name.strip()]
    if blank := next((name for name in given if len(name.split()) > 1), None):
        raise UsageError(f"--labels: the name {blank!r} has a blank in it, which column files cannot hold")
    tagger = getattr(crf, "tagger_", None)
    if tagger is None:
        if given:
            return TagSet.of_names(given, arguments.scheme)
        return TagSet.of_labels(names) if names else None
    if arguments.scheme != "auto":
        raise UsageError("--scheme cannot be combined with --model: its labels decide")
    own = TagSet.of_labels(map(str, tagger.classes))
    more = TagSet.of_labels(given) if set(given) & set(map(str, tagger.classes)) else None
    return own.with_types(given if more is None else more.types)


def _open_store(arguments: argparse.Namespace, tags: TagSet | None) -> Store:
    import os

    from crfkit.annotate.store import Store

    if tags is None and not os.path.exists(arguments.output):
        raise UsageError("there is no model: name the labels with --labels A,B,… or give a model with -m")
    store = Store(arguments.output, tags, arguments.seed)
    if store.n_removed:
        warn(f"{store.path}: removed an answer that was cut off, {store.n_removed} bytes at the end")
    return store


# ---- the session


def _session(arguments: argparse.Namespace, store: Store, columns: Columns, crf: CRF) -> Session:
    from crfkit.annotate.learner import Learner
    from crfkit.annotate.session import Session

    session = Session(columns, Learner(crf, store.tags.scheme), store, arguments.order, arguments.every)
    if not arguments.quiet:
        if store.answers:
            note(f"{store.path}: going on after {len(store.answers):,} labelled sentences")
        if session.n_elsewhere:
            note(f"{session.n_elsewhere:,} of them are not in {arguments.data}; they are learnt from too")
    if store.answers:
        session.refit()
    return session


def _serve(session: Session, arguments: argparse.Namespace) -> None:
    from crfkit.annotate.server import HOST, listening_socket, new_token, serve

    listening = listening_socket(arguments.port)
    token = new_token()
    address = f"http://{HOST}:{listening.getsockname()[1]}/{token}/"
    before = len(session.store.answers)

    def ready() -> None:
        if not arguments.quiet:
            note("the page is at this address; Ctrl-C ends it")
        show(address)
        sys.stdout.flush()
        if not arguments.no_browser:
            import threading
            import webbrowser

            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    try:
        serve(session, listening, token, ready)
    finally:
        listening.close()
    if not arguments.quiet:
        answers, path = session.store.answers, session.store.path
        note(f"{len(answers):,} labelled sentences are in {path}, {len(answers) - before:,} of them new")
        note(f"to write them as CoNLL: crfkit annotate {arguments.data} -o {path} --export FILE")


def _save(session: Session, record: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Let the model learn from all answers, and write it."""
    if session.fitted_on < len(session.store.answers):
        session.refit()
    if session.failure or not session.learner.has_model:
        why = session.failure or "no label is known yet"
        warn(f"{arguments.save_model} is not written: {why}")
        return
    model = session.learner.model
    keep(arguments.save_model, partial(model.save, record={"data": record}), "the model")
    if not arguments.quiet:
        note(f"{arguments.save_model}: the model, with all {session.fitted_on:,} labelled sentences learnt")
