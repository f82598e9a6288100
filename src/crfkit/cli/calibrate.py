"""``crfkit calibrate``: make a model's probabilities true on held-out data."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from crfkit.cli import options
from crfkit.cli.data_file import open_data
from crfkit.cli.loading import data_record, load_model, save_changed
from crfkit.cli.messages import UsageError, note
from crfkit.cli.output_files import check_outputs, keep
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crfkit.metrics import Outcomes
    from crfkit.models.calibrating import HeldOut
    from crfkit.models.calibration import Calibration
    from crfkit.models.fitted_model import FittedModel

USAGE = "MODEL DATA -m OUT [options]"

DESCRIPTION = """\
Makes a model's probabilities agree with how often it is right on held-out data,
and finds thresholds for a wanted precision. Predicted labels do not change."""

EXAMPLES = """\
examples:
  crfkit calibrate names.crfkit dev.txt -m sure.crfkit
  crfkit calibrate names.crfkit dev.txt -m sure.crfkit --method isotonic
  crfkit calibrate names.crfkit dev.txt -m sure.crfkit --test test.txt
  crfkit calibrate names.crfkit dev.txt -m sure.crfkit --plot sure.png
  crfkit tag sure.crfkit news.txt --min-probability 0.83

The data must not be the training data. --test shows what calibration and
thresholds, chosen on one file, do on another."""

_OPTIONS = f"""
  model MODEL               a model of crfkit, CRFsuite, Wapiti or CRF++
  data DATA                 labelled data that the model was not trained on
  -m, --output OUT!         file for the calibrated model
calibration:
  --method temperature|isotonic = temperature  temperature: divide all scores by one number; isotonic: map the
      probabilities of labels and of segments by one rising function each
  --precision P:float...    a precision of segments to find the threshold for; may be given several times
      (default: 0.9, 0.95, 0.98, 0.99)
  --test FILE               more labelled data, to show what calibration and thresholds do there
  --plot FILE               reliability of segments before and after, as png, svg or pdf; needs matplotlib
the data:
{options.formats()}
{options.label_column("as in training")}
{options.template("for models without a template: turns columns into attributes")}
{options.JOBS}
{options.QUIET}
"""
_PRECISIONS = (0.9, 0.95, 0.98, 0.99)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``calibrate``."""
    options.declare(parser, _OPTIONS)


def run(arguments: argparse.Namespace) -> int:
    """Calibrate the model, write it, and print what that changes."""
    wanted = arguments.precision or _PRECISIONS
    for precision in wanted:
        if not 0 < precision <= 1:
            raise UsageError(f"--precision must be above 0 and at most 1, got {precision:g}")
    if arguments.output == "-":
        raise UsageError("a model cannot be written to standard output: name a file")
    if arguments.plot is not None:
        from crfkit.io.pictures import picture_format

        picture_format(arguments.plot)
    inputs = [arguments.model, arguments.data, arguments.test, arguments.template]
    check_outputs(arguments, [arguments.output, arguments.plot], inputs)
    if inputs[:3].count("-") > 1:
        raise UsageError("only one input can come from standard input")
    from crfkit.models.calibrating import calibrated_on

    tagger, header = load_model(arguments.model, arguments.jobs)
    if arguments.template is not None:
        from crfkit.cli.tag import add_template

        add_template(tagger, arguments)
    record = data_record(header)
    files = [arguments.data] if arguments.test is None else [arguments.data, arguments.test]
    data = [_held_out(path, tagger, record, arguments) for path in files]
    found, before = calibrated_on(data[0], arguments.method), tagger.calibration
    tagger.calibration = found
    keep(arguments.output, lambda path: save_changed(tagger, header, path), "the calibrated model")
    print("\n".join(_lines(list(zip(files, data, strict=True)), before, found, wanted)))
    if arguments.plot is not None:
        _plot(data[-1], before, found, arguments.plot)
    if not arguments.quiet:
        note(f"{arguments.output}: {found}")
    return 0


def _held_out(
    path: str, tagger: FittedModel, record: dict[str, Any] | None, arguments: argparse.Namespace
) -> HeldOut:
    from crfkit.cli.batches import read_batches
    from crfkit.data.labels import decode_labels
    from crfkit.models.calibrating import HeldOut

    arguments.known_column = None  # an option of 'crfkit tag', which reads data in the same way
    held_out, n_labels = HeldOut(tagger), 0
    with open_data(path, arguments, tables=tagger.n_columns is not None) as data:
        for batch in read_batches(data, tagger, record, arguments, prompt=False):
            if batch.gold is None:
                break
            names, ids = batch.gold
            n_labels += int((ids >= 0).sum())
            held_out.add(tagger.scored_under(batch.x).lattice, decode_labels(ids, batch.offsets, names))
    if not n_labels:
        raise InputError(f"{path}: calibration needs true labels, but the data has none")
    return held_out


def _lines(
    data: list[tuple[str, HeldOut]], before: Calibration, found: Calibration, wanted: Any
) -> Iterator[str]:
    """Yield the report: calibration errors before and after, and thresholds."""
    from crfkit.metrics import brier_score, expected_calibration_error, threshold_for_precision

    def cells(outcomes: Outcomes) -> str:
        if not len(outcomes.right):
            return f"{'–':>9} {'–':>8} {'–':>8}"
        error, brier = expected_calibration_error(*outcomes), brier_score(*outcomes)
        return f"{len(outcomes.right):>9,} {error:>8.4f} {brier:>8.4f}"

    width = max(len(path) for path, _ in data)
    titles = f"{'number':>9} {'ECE':>8} {'Brier':>8}"
    yield f"{'':{width}}  {'':7} {'segments':>27} {'labels':>27}"
    yield f"{'':{width}}  {'':7} {titles} {titles}"
    for path, held_out in data:
        for name, calibration in (("before", before), ("after", found)):
            shown = f"{cells(held_out.segments(calibration))} {cells(held_out.labels(calibration))}"
            yield f"{path if name == 'before' else '':{width}}  {name:7} {shown}"
    chosen, *others = (held_out for _, held_out in data)
    outcomes = chosen.segments(found)
    yield ""
    if not len(outcomes.right):
        yield "no segments were predicted, so there are no thresholds"
        return
    yield "wanted     min. probability   precision, share kept" + (
        " on the first file; on the second" if others else ""
    )
    for precision in wanted:
        threshold = threshold_for_precision(*outcomes, precision)
        if threshold is None:
            yield f"{100 * precision:5.1f} %    no threshold reaches it"
            continue
        line = f"{100 * precision:5.1f} %    {threshold.probability:16.4f}   "
        line += f"{100 * threshold.precision:8.2f} %, {100 * threshold.kept:5.1f} %"
        for other in others:
            p, right = other.segments(found)
            kept = p >= threshold.probability
            share = f"{100 * right[kept].mean():8.2f} %, " if kept.any() else f"{'–':>8}  , "
            line += f"; {share}{100 * kept.mean() if len(p) else 0:5.1f} %"
        yield line


def _plot(data: HeldOut, before: Calibration, found: Calibration, path: str) -> None:
    from crfkit.io.pictures import save_picture
    from crfkit.metrics import reliability

    ax = None
    for label, calibration in (("before", before), ("after", found)):
        outcomes = data.segments(calibration)
        if not len(outcomes.right):
            raise InputError("there is nothing to draw: no segments were predicted")
        ax = reliability(*outcomes).plot(ax, label=label)
    if ax is not None:
        figure: Any = ax.figure
        keep(path, lambda place: save_picture(figure, place), "the plot")
