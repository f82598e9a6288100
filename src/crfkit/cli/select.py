"""``crfkit select``: select features and save them by name."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from crfkit.cli import options
from crfkit.cli.messages import UsageError, note
from crfkit.cli.output_files import check_outputs, keep
from crfkit.cli.train_data import Data, read_data, read_dev, read_template
from crfkit.io.pictures import picture_format, save_picture
from crfkit.optional import needed

if TYPE_CHECKING:
    from crfkit.selection.base import BaseSelector, FittedSelection

USAGE = "DATA [DATA …] -o FILE [-t TEMPLATE] [options]"

DESCRIPTION = """\
Selects the features that a model needs, in rounds, and writes them to a file
for 'crfkit train --features'. Prints one line per round on stderr."""

EXAMPLES = """\
examples:
  crfkit select train.txt -o few.json -t chunking.template -n 10000 --batch 0.5
  crfkit select train.txt -o few.json --dev dev.txt --batch 100 --plot few.png
  crfkit select dice.crfsuite -o few.json --method gain
  crfkit select train.txt -o few.json --conjunctions 500 -n 2000 --batch 50
  crfkit train train.txt -m few.crfkit -t chunking.template --features few.json"""

METHODS = {
    "gradient": "difference of observed and expected counts, fast",
    "gain": "decrease of the objective by this feature alone, exact",
    "approximate-gain": "the same with positions taken as independent",
    "mutual-information": "with the labels, without a model",
    "l1": "features with a weight other than 0 while the L1 penalty falls",
}
_SHOWN = 10  # features in the report


_OPTIONS = f"""
  data DATA...              labelled data; - is standard input
the selection:
  -o, --output FILE!        file for the selection (JSON)
{options.template()}
  --plot FILE               plot the objective along the path: .png, .svg or .pdf; needs matplotlib
the data:
{options.formats()}
{options.label_column()}
  --dev FILE                held-out data; the search keeps the selection that is best on it
how to select:
  --method {"|".join(METHODS)} = gradient  {"; ".join(f"{name}: {words}" for name, words in METHODS.items())}
  -n, --n-features N>=1     stop at this number of features
  --batch N = 1             features per round; a fraction such as 0.5: all above this share of the best score
  --tol X                   stop when a feature lowers the objective by less: aic, bic, or a share of the
      empty model's objective (default: bic; with -n: no limit)
  --c2 X:float = 1.0        L2 penalty of the models during the search
  --patience N>=1 = 5       stop after N rounds without improvement on --dev
  --screen N>=1             gain: compute the exact gain of the N most promising features only
  --resamples N>=2          stability: run on N random halves, keep features selected in --threshold of them
  --threshold X:float = 0.6  share of the resamples
  --seed N>=0 = 0           seed of the resamples
{options.JOBS}
candidates:
  --candidates all|state|transitions = all  features to select from; the model has all others from the start
  --conjunctions N>=1       after each round add N conjunctions of selected and other attributes as candidates
  --order 1|2:int = 1       number of previous labels that a label depends on
  --min-freq N:float        leave out features that occur less often
messages:
{options.QUIET}
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``select``; the selectors have the defaults."""
    more: dict[str, dict[str, Any]] = {
        "batch": {"type": _batch},
        "tol": {"type": _tol},
        "min-freq": {"default": 0},
    }
    options.declare(parser, _OPTIONS, more)


def _batch(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


_batch.__name__ = "number of features or share"


def _tol(text: str) -> str | float:
    return text if text in ("aic", "bic") else float(text)


_tol.__name__ = "tolerance"


def run(arguments: argparse.Namespace) -> int:
    """Read the data, select features, save and report them."""
    _check(arguments)
    selector = _selector(arguments)
    data, template = read_data(arguments.data, arguments, read_template(arguments), selector)
    selector.set_params(template=template)
    dev = read_dev(data, arguments, template, selector)
    began = time.perf_counter()
    try:
        found = _fit(selector, data, dev, arguments)
    except KeyboardInterrupt:
        _keep_unfinished(selector, arguments.output)
        raise
    spent = time.perf_counter() - began
    keep(arguments.output, found.selected_.save, "the selection")
    if arguments.plot is not None:
        _draw(found, arguments.plot)
    if not arguments.quiet:
        _report(found, data, arguments, spent)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    inputs = [*arguments.data, arguments.dev, arguments.template]
    if inputs.count("-") > 1:
        raise UsageError("only one input can come from standard input")
    if arguments.output == "-":
        raise UsageError("-o needs a file, not standard output")
    if arguments.screen is not None and arguments.method != "gain":
        raise UsageError("--screen needs --method gain")
    if arguments.batch != 1 and arguments.method == "l1":
        raise UsageError("--batch cannot be combined with --method l1: its rounds are steps of the penalty")
    if arguments.conjunctions is not None and arguments.method in ("l1", "mutual-information"):
        raise UsageError(f"--conjunctions cannot be combined with --method {arguments.method}")
    if arguments.resamples is not None and arguments.dev is not None:
        raise UsageError("--resamples and --dev cannot be combined")
    check_outputs(arguments, [arguments.output, arguments.plot], inputs)
    if arguments.plot is not None:
        picture_format(arguments.plot)
        needed("matplotlib", "--plot")


def _selector(arguments: argparse.Namespace) -> BaseSelector:
    """Return the selector with its parameters, but without a template."""
    from crfkit import selection

    settings: dict[str, Any] = {
        "tol": arguments.tol,
        "c2": arguments.c2,
        "candidates": arguments.candidates,
        "order": arguments.order,
        "min_freq": arguments.min_freq,
        "patience": arguments.patience,
        "n_jobs": arguments.jobs,
        "verbose": not arguments.quiet and arguments.resamples is None,
    }
    n = arguments.n_features
    if arguments.method == "l1":
        return selection.L1PathSelector(n, **settings)
    settings["batch"] = arguments.batch
    if arguments.method == "mutual-information":
        return selection.MutualInformationSelector(n, **settings)
    settings["conjunctions"] = arguments.conjunctions or False
    if arguments.method == "gradient":
        return selection.GradientSelector(n, **settings)
    method = "exact" if arguments.method == "gain" else "approximate"
    return selection.GainSelector(n, method=method, screen=arguments.screen, **settings)


def _fit(
    selector: BaseSelector, data: Data, dev: Data | None, arguments: argparse.Namespace
) -> FittedSelection:
    if arguments.resamples is None:
        return selector.fit(data.x, data.y, data.weights, *((None, None) if dev is None else (dev.x, dev.y)))
    from crfkit.selection import StabilitySelector

    stable = StabilitySelector(
        selector,
        n_resamples=arguments.resamples,
        threshold=arguments.threshold,
        random_state=arguments.seed,
        verbose=not arguments.quiet,
    )
    return stable.fit(data.x, data.y)


def _keep_unfinished(selector: BaseSelector, path: str) -> None:
    """Save what an interrupted selector has chosen, if anything, in a file beside ``path``."""
    if hasattr(selector, "selected_"):
        beside = f"{path}.unfinished"
        keep(beside, selector.selected_.save, "the selection")
        raise KeyboardInterrupt(f"stopped with {len(selector.selected_):,} features; they are in {beside}")


def _draw(found: FittedSelection, path: str) -> None:
    figure: Any = found.plot_path().figure
    keep(path, lambda place: save_picture(figure, place), "the plot")


def _report(found: FittedSelection, data: Data, arguments: argparse.Namespace, spent: float) -> None:
    lines = [
        ("data", f"{len(data.y):,} sequences, {data.n_tokens:,} tokens"),
        ("chosen", f"{len(found.selected_):,} features in {spent:.1f} s"),
        ("written", arguments.output),
    ]
    because = getattr(found, "stopped_because_", None)
    if because is not None:
        lines.insert(2, ("ended", f"{because}; there were {found.n_candidates_:,} candidates"))
    for name, words in lines:
        note(f"{name:13}{words}")
    for line in found.selected_.table(_SHOWN).splitlines():
        note(line)
