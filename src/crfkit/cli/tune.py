"""``crfkit tune``: search for good features and parameters by cross-validation, and train the best model."""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import TYPE_CHECKING, Any

from crfkit.cli import group_column, options
from crfkit.cli.data_file import open_data
from crfkit.cli.default_template import default_template
from crfkit.cli.messages import UsageError, note
from crfkit.cli.output_files import check_outputs, keep
from crfkit.cli.train_data import Data, cells_of, check_alike, joined_tables, read_data, word_features
from crfkit.exceptions import InputError
from crfkit.io.formats import names_of

if TYPE_CHECKING:
    from crfkit.model_selection import TuningResult

USAGE = "DATA [DATA …] -m MODEL [-t TEMPLATE …] [options]"

DESCRIPTION = """\
Tries features and parameters by cross-validation, many on a part of the data
and the best on all of it; trains the best model and writes it."""

EXAMPLES = """\
examples:
  crfkit tune train.txt -m best.crfkit                 features and penalties
  crfkit tune train.txt -m best.crfkit -t a.template -t b.template
  crfkit tune train.txt -m best.crfkit --try c2=0.01,0.1,1 --try order=1,2
  crfkit tune table.csv -m trees.crfkit --kind trees --metric accuracy
  crfkit tune table.csv -m best.crfkit --group-column document"""

_KINDS = {
    "linear": "CRF",
    "segments": "SemiCRF",
    "trees": "TreeCRF",
    "constrained": "ConstrainedCRF",
    "kernel": "KernelCRF",
}
_OF_COLUMNS = ("trees", "kernel")  # kinds without templates and attributes
_OPTIONS = f"""
  data DATA...              labelled data; - is standard input
the model:
  -m, --model FILE!         file for the model
  --kind {"|".join(_KINDS)} = linear  as in 'crfkit train'
the data:
{options.formats()}
{options.label_column()}
{group_column.OPTION}
the search:
  -t, --template FILE...    a template to try; may be given several times (default: features of words and
      classes, and a window of two rows on either side)
  --try NAME=A,B...         values of a parameter of the model to try, as in c2=0.1,1; may be given several
      times (default: values that suit the kind of model; names and values are those of Python)
  --metric auto|f1|accuracy|log_loss = auto  what is best: F1 of segments (without tags such as B-: the mean
      of all labels), accuracy of labels, or their log probability; auto: f1 for labels with tags, otherwise
      accuracy
  --folds K>=2 = 5          number of folds
  --candidates N>=1 = 20    number of settings to try
  --seed N>=0 = 0           seed of folds and settings
{options.JOBS}
"""
_MESSAGES = f"""
{options.QUIET}
  -v, --verbose             one line per setting
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tune``."""
    options.declare(parser, _OPTIONS, {"try": {"dest": "tried", "type": _values}})
    options.declare(parser.add_argument_group("messages").add_mutually_exclusive_group(), _MESSAGES)


def _values(text: str) -> tuple[str, list[Any]]:
    """Return the parameter and the values of ``NAME=A,B``."""
    name, equals, values = text.partition("=")
    if not equals or not name or not values:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=A,B")
    return name, [_value(one) for one in values.split(",")]


_values.__name__ = "parameter with values"


def _value(text: str) -> Any:
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    try:
        number = json.loads(text)
    except ValueError:
        return text
    return number if isinstance(number, (int, float)) else text


def run(arguments: argparse.Namespace) -> int:
    """Read the data, search, save the best model and report."""
    _check(arguments)
    from crfkit.model_selection import tune

    began = time.perf_counter()
    estimator = _estimator(arguments)
    data = _read(arguments, estimator)
    space = _space(arguments, estimator, data)
    found = tune(
        estimator,
        data.x,
        data.y,
        data.groups,
        space,
        metric=arguments.metric,
        cv=arguments.folds,
        n_candidates=arguments.candidates,
        sample_weight=data.weights,
        random_state=arguments.seed,
        verbose=options.verbosity(arguments),
    )
    path = f"{arguments.model}.unfinished" if found.interrupted else arguments.model
    record = {} if data.record is None else {"data": data.record}
    keep(path, lambda place: found.best_estimator_.save(place, record=record), "the model")
    if not arguments.quiet or found.interrupted:
        _report(found, data, path, time.perf_counter() - began)
    if found.interrupted:
        raise KeyboardInterrupt(f"stopped; the best model of the settings above is in {path}")
    return 0


def _check(arguments: argparse.Namespace) -> None:
    inputs = [*arguments.data, *(arguments.template or ())]
    if inputs.count("-") > 1:
        raise UsageError("only one input can come from standard input")
    if arguments.model == "-":
        raise UsageError("-m needs a file, not standard output")
    if arguments.template is not None and arguments.kind in _OF_COLUMNS:
        raise UsageError(f"--template is for linear models, not for --kind {arguments.kind}")
    check_outputs(arguments, [arguments.model], inputs)


def _estimator(arguments: argparse.Namespace) -> Any:
    import crfkit

    settings = {"n_jobs": arguments.jobs, "random_state": arguments.seed}
    return getattr(crfkit, _KINDS[arguments.kind])(**settings)


def _read(arguments: argparse.Namespace, estimator: Any) -> Data:
    """Read the data of all files: cells without the labels, or attributes."""
    parts: list[Data] = []
    for path in arguments.data:
        with open_data(path, arguments, tables=arguments.template is not None) as file:
            if not file.format.is_table:
                return _read_items(arguments, estimator, file.name)
            parts.append(cells_of(file, arguments))
        check_alike(parts[0], parts[-1], path)
    return parts[0] if len(parts) == 1 else joined_tables(parts)


def _read_items(arguments: argparse.Namespace, estimator: Any, name: str) -> Data:
    if arguments.kind in _OF_COLUMNS:
        who = "trees need" if arguments.kind == "trees" else "a kernel needs"
        raise InputError(f"{name}: it has attributes, but {who} columns ({names_of(tables=True)})")
    if arguments.template is not None:
        raise UsageError(f"--template needs columns, but {name} has ready-made attributes")
    return read_data(arguments.data, arguments, None, estimator)[0]


def _space(arguments: argparse.Namespace, estimator: Any, data: Data) -> Any:
    """Return what to try: parameters, and templates or features if the data has columns."""
    from crfkit.model_selection import default_space

    space = default_space(estimator) if arguments.tried is None else dict(arguments.tried)
    for name in space:
        if name not in estimator.get_params(deep=False):
            known = ", ".join(sorted(estimator.get_params(deep=False)))
            raise UsageError(f"--try {name}: the model has no such parameter; it has {known}")
    if arguments.kind in _OF_COLUMNS or data.record is None:
        return space
    from crfkit.features.template import Template

    if arguments.template is not None:
        templates = [Template.read(path) for path in arguments.template]
        estimator.set_params(template=templates[0])
        named = dict(zip(arguments.template, templates, strict=True))
        return {**space, "template": named} if len(templates) > 1 else space
    window = Template.parse(default_template(data.x.n_columns), "crf++", "the default template")
    words = word_features(data.x, arguments)
    estimator.set_params(extractor=words)
    return [
        {**space, "extractor": {"words and classes": words}, "template": [None]},
        {**space, "extractor": [None], "template": {"window of 2": window}},
    ]


def _report(found: TuningResult, data: Data, path: str, seconds: float) -> None:
    for line in str(found).splitlines():
        note(line)
    for name, words in (
        ("data", f"{len(data.y):,} sequences, {data.n_tokens:,} tokens"),
        ("tried", f"{len(found.trials):,} trainings of {found.cv} folds in {seconds:.1f} s"),
        (
            "score",
            f"{found.metric} {found.best_score_:.4f} (cross-validated; slightly optimistic, as it chose)",
        ),
        ("written", f"{path}, {os.path.getsize(path) / 1e6:,.1f} MB"),
    ):
        note(f"{name:13}{words}")
