"""``crfkit train --kind kernel``: train a KernelCRF on numbers and categories of column files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from crfkit.cli import options
from crfkit.cli.messages import UsageError
from crfkit.cli.train_data import Job, check_alike, read_cells

if TYPE_CHECKING:
    from crfkit.models.kernels.kernel_crf import KernelCRF

GOES_WITH = "--kind kernel"

_OPTIONS = """
--kind kernel:
  --kernel rbf|linear|poly|laplacian|cosine  how rows are compared (default: rbf)
  --gamma X                 width of the kernel: a number, median, scale, or auto (default): chosen on
      held-out parts of the training data
  --reg X                   weight of the penalty: a number, or auto (default): chosen as --gamma is
  --cliques N>=1            number of training rows that others are compared with (default: by the size of the
      data)
  --edges                   let the scores of label pairs depend on the row, too
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of kernels."""
    options.declare(parser, _OPTIONS)


def _check_numbers(arguments: argparse.Namespace) -> None:
    for name, words in (("gamma", ("auto", "median", "scale")), ("reg", ("auto",))):
        given = getattr(arguments, name)
        if given is None or given in words:
            continue
        try:
            valid = 0 < float(given) < float("inf")
        except ValueError:
            valid = False
        if not valid:
            raise UsageError(f"--{name} must be a number above 0 or {' or '.join(words)}, got {given!r}")


CHECKS = (_check_numbers,)


def prepare(arguments: argparse.Namespace) -> Job:
    """Read the data and create the estimator."""
    if arguments.order not in (None, 1):
        raise UsageError("--order 2 is for --kind linear and trees: a kernel model has order 1")
    crf = estimator(arguments)
    data = read_cells(arguments.data, arguments, "a kernel")
    dev = None
    if arguments.dev is not None:
        dev = read_cells([arguments.dev], arguments, "a kernel")
        check_alike(data, dev, arguments.dev)
    return Job(crf, data, dev, crf.fit)


def estimator(arguments: argparse.Namespace) -> KernelCRF:
    """Return the estimator with the settings that options name."""
    from crfkit.models.kernels.kernel_crf import KernelCRF

    same = ("kernel", "gamma", "reg", "max_iterations", "class_weight")
    given = options.given(arguments, *same, n_cliques="cliques")
    for name in ("gamma", "reg"):
        if given.get(name, "auto") not in ("auto", "median", "scale"):
            given[name] = float(given[name])
    return KernelCRF(
        **given,
        cliques="vertex+edge" if arguments.edges else "vertex",
        patience=None if arguments.dev is None else arguments.patience,
        n_jobs=arguments.jobs,
        random_state=arguments.seed,
        verbose=options.verbosity(arguments),
    )


def report(crf: KernelCRF) -> list[tuple[str, str]]:
    """Return facts about the trained model: pairs of name and text."""
    size = (
        f"{len(crf.classes_):,} labels, {len(crf.cliques_):,} cliques, {crf.tagger_.width:,} numbers per row"
    )
    gamma = f"gamma {crf.gamma_:.4g}, " if hasattr(crf, "gamma_") else ""
    chosen = ", chosen on held-out parts of the data" if crf.search_ else ""
    return [
        ("model", size),
        ("settings", f"{gamma}reg {crf.reg_:.4g}{chosen}"),
        ("risk", f"{crf.risk_:,.4f}"),
    ]
