"""``crfkit train --kind segments``: train a SemiCRF, with a template, default features or attributes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from crfkit.cli import options
from crfkit.cli.messages import UsageError, ending
from crfkit.cli.train_data import Job, read_data, read_dev, read_template, word_features

if TYPE_CHECKING:
    from crfkit.features.span_features import Gazetteers
    from crfkit.models.segments.semi_crf import SemiCRF

GOES_WITH = "--kind segments"

_OPTIONS = """
--kind segments:
  --max-length N>=1         lengths up to N have weights of their own (default: up to the longest segment of
      the data, at most 32)
  --longer tail|forbidden   longer segments: a weight for each further position (default), or none
  --last-attributes         weights also for the attributes of a segment's last row as such
  --gazetteer NAME=FILE...  a file of phrases, one per line: a segment that is one of them, from its first to
      its last word (the first column), has the attribute NAME; may be given several times
  --ignore-case             ignore case in gazetteers
  --scheme NAME             how labels are read: runs (a segment is a run of one label), or IOB2, IOB1,
      IOBES, … (default: told by the labels)
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of segments."""
    options.declare(parser, _OPTIONS)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.kind != "segments":
        return
    if arguments.order not in (None, 1):
        raise UsageError("--order is for --kind linear and trees: neighbouring segments are pairs of labels")
    if isinstance(arguments.c2, str):
        raise UsageError(f"--c2 {arguments.c2} needs --kind linear or constrained: give a number")
    if arguments.ignore_case and not arguments.gazetteer:
        raise UsageError("--ignore-case needs --gazetteer NAME=FILE")
    for given in arguments.gazetteer or ():
        if not all(given.partition("=")):
            raise UsageError(f"--gazetteer must be NAME=FILE, got {given!r}")


CHECKS = (_check,)


def also(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the options of linear models that are taken as well."""
    return "template", "c1", "c2", "tol", "min_freq", "all_possible_states", "unknown"


def prepare(arguments: argparse.Namespace) -> Job:
    """Read the data and create the estimator."""
    from crfkit.features.template import Template
    from crfkit.models.segments.semi_crf import SemiCRF

    same = ("c1", "c2", "max_length", "longer", "scheme", "max_iterations", "tol", "min_freq", "class_weight")
    crf = SemiCRF(
        **options.given(arguments, *same, n_jobs="jobs", random_state="seed"),
        last_attributes=arguments.last_attributes,
        all_possible_states=arguments.all_possible_states,
        segment_features=_gazetteers(arguments),
        patience=arguments.patience,
        verbose=options.verbosity(arguments),
    )
    data, maker = read_data(arguments.data, arguments, read_template(arguments), crf, word_features)
    if maker is None or isinstance(maker, Template):
        crf.set_params(template=maker)
    else:
        crf.set_params(extractor=maker)
    return Job(crf, data, read_dev(data, arguments, maker, crf), crf.fit)


def _gazetteers(arguments: argparse.Namespace) -> Gazetteers | None:
    if not arguments.gazetteer:
        return None
    from crfkit.features.span_features import Gazetteers
    from crfkit.io.opening import open_input, source_name
    from crfkit.io.text_lines import text_lines

    lists: dict[str, list[str]] = {}
    for given in arguments.gazetteer:
        name, _, path = given.partition("=")
        with open_input(path) as file:
            lists.setdefault(name, []).extend(text for _, text in text_lines(file, source_name(path)))
    return Gazetteers(lists, ignore_case=arguments.ignore_case)


def report(crf: SemiCRF) -> list[tuple[str, str]]:
    """Return facts about the trained model: pairs of name and text."""
    tagger = crf.tagger_
    features = tagger.potential.features
    n_kinds = tagger.codec.n_types - (tagger.codec.background is not None)
    size = (
        f"{n_kinds:,} kinds of segments, {len(tagger.vocabulary):,} attributes, "
        f"{features.n_features:,} features"
    )
    how = ending(crf.history_, crf.converged_)
    return [
        ("model", size),
        ("lengths", tagger.facts()["lengths"]),
        ("objective", f"{crf.objective_:,.4f} after {crf.n_iter_:,} iterations ({how})"),
    ]
