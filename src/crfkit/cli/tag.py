"""``crfkit tag``: label sequences with a model, from a file or a stream."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from crfkit.cli import constraint_options, options
from crfkit.cli.data_file import open_data
from crfkit.cli.in_order import in_order
from crfkit.cli.loading import data_record, load_model
from crfkit.cli.messages import UsageError, note, warn
from crfkit.cli.output_files import check_outputs
from crfkit.cli.quick_tag import tag_quickly
from crfkit.exceptions import InputError, NoPathError
from crfkit.io.formats import USUAL_TABLE
from crfkit.io.writing import open_output
from crfkit.threads import thread_count

if TYPE_CHECKING:
    from crfkit.cli.batches import Batch
    from crfkit.inference.lattice import ScoredSequences
    from crfkit.io.formats import DataFormat
    from crfkit.models.fitted_model import Decoded, FittedModel, Scored
    from crfkit.models.linear.tagger import LinearTagger
    from crfkit.models.results import PredictedSegment

USAGE = "MODEL [INPUT] [-o OUTPUT] [options]"

DESCRIPTION = """\
Labels sequences with a model and writes them with the predicted label as last
column. Works on a stream: data of any size, from a file, pipe or terminal."""

EXAMPLES = """\
examples:
  crfkit tag chunks.crfkit test.txt > tagged.txt
  crfkit tag chunks.crfkit test.txt --eval -o tagged.txt    print scores as well
  tokenize < book.txt | crfkit tag chunks.crfkit | less     tag a stream
  crfkit tag names.crfsuite test.txt --legal IOB2 --marginals
  crfkit tag chunks.crfkit test.txt --nbest 3 --forbid 'O>I-*'
  crfkit tag chunks.crfkit test.txt --why | less -S         explain the labels
  crfkit tag names.crfkit news.txt --segments --min-probability 0.9
  crfkit tag graphs.crfkit new-graphs.jsonl --eval > labelled.jsonl   graphs

Empty lines separate sequences; so do lines that begin with -DOCSTART-, which
are left out of the output."""


_OPTIONS = f"""
  model MODEL               a model of crfkit, CRFsuite, Wapiti or CRF++
  input [INPUT] = -         data; - is standard input
the data:
{options.formats()}
  --text                    the same as --format text: plain text in, JSON lines with labelled spans out
{options.label_column("as in training; 'none': the data has no labels")}
  --known-column K          column of known labels, which the result keeps: '_', '-' or an empty cell for any
      label, 'A|B' for A or B
{options.template("for models without a template: turns columns into attributes")}
decoding:
  --posterior               the most probable label of each token, not the most probable sequence
{constraint_options.OPTIONS}
  --rules FILE              rules of 'crfkit mine': where a rule of confidence 1 applies, its label is
      certain; of several rules, the one with most items decides
{options.JOBS}
what to write:
  -o, --output FILE = -     output file; - is standard output
  --label-only              only the predicted labels, without the input
  --marginals [all]         also the probability of the label; 'all': of every label, as label:probability
  --score                   a line '# probability' of the labelling before each sequence
  --nbest K>=1              the K best labellings, each after a line '# rank probability'; the best has rank 0
  --why [N>=1]              also the probability, the next best label and its probability, and the N strongest
      reasons for the label or (below 0) for the next best (default: 4)
  --segments                one line per segment instead: sequence, start, stop (both from 0), type,
      probability, text; without tags such as B-, segments are runs of a label
  --min-probability P:float  leave out segments with a lower probability: their labels become O
  --blanks                  separate columns with blanks instead of tabs
{options.SPREADSHEET_SAFE}
  --eval                    print scores on standard error; needs true labels
  --flush                   write each sequence before the next is read (always on for terminals and pipes)
{options.QUIET}
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tag``."""
    marginals = {"const": "best", "choices": ("best", "all")}
    options.declare(parser, _OPTIONS, {"marginals": marginals, "why": {"const": 4}})


def run(arguments: argparse.Namespace) -> int:
    """Load the model, then decode and write the data batch by batch."""
    if arguments.text:
        arguments.format = "text"
    _check(arguments)
    inputs = [arguments.model, arguments.input, arguments.template, arguments.rules]
    check_outputs(arguments, [arguments.output], inputs)
    if tag_quickly(arguments, _defaults()):
        return 0
    tagger, header = load_model(arguments.model, arguments.jobs)
    if tagger.in_files == "graph CRF":
        from crfkit.cli.tag_graphs import tag_graphs
        from crfkit.models.graphs.tagger import GraphTagger

        return tag_graphs(arguments, _defaults(), cast(GraphTagger, tagger))
    _adapt(tagger, arguments)
    constraints = constraint_options.constraints_of(arguments, tagger)

    from crfkit.cli.batches import read_batches
    from crfkit.cli.tag_output import Layout
    from crfkit.models.explanation import explained

    if arguments.input == "-" and sys.stdin.isatty() and not arguments.quiet:
        note("reading from the terminal: an empty line ends a sequence, Ctrl-D ends the input")
    labels = [str(label) for label in tagger.classes]
    layout = Layout(labels, arguments)
    segments = None
    if arguments.segments or arguments.min_probability is not None:
        from crfkit.cli.tag_segments import SegmentLines

        segments = SegmentLines(tagger, arguments)
    tally = _Tally(labels) if arguments.eval else None
    n_positions, knows_some, record = 0, False, data_record(header)
    tables = tagger.n_columns is not None

    def work(batch: Batch, n_threads: int) -> tuple[Scored, Any]:
        """Score and decode a batch: this runs in several threads."""
        tagger.n_jobs = n_threads  # the same for all batches, unless there is only one
        scored = tagger.scored_under(batch.x, constraints, batch.allowed)
        if arguments.why:
            return scored, None  # reasons take memory: they are made sequence by sequence, when written
        try:
            if arguments.nbest:
                return scored, list(tagger.decode_several(scored.lattice, arguments.nbest))
            return scored, tagger.decode(
                scored.lattice,
                how="marginal" if arguments.posterior else None,
                with_marginals=arguments.marginals is not None,
                with_probability=arguments.score,
            )
        except NoPathError as error:
            raise _at_its_line(error, batch) from error

    def text_of(batch: Batch, lattice: ScoredSequences, found: Any) -> bytes:
        """Return the lines of a batch; the batches come in order."""
        if arguments.why:
            try:
                reasons = tagger.reasons(batch.x, lattice, header)
                return layout.with_reasons(batch, explained(tagger, lattice, reasons))
            except NoPathError as error:
                raise _at_its_line(error, batch) from error
        if arguments.nbest:
            return layout.several(batch, found)
        decoded: Decoded = found
        text = b""
        if segments is not None:
            decoded, text = segments.of(batch, lattice, decoded)
        if not arguments.segments:
            text = layout.one(batch, decoded, partial(_segments, tagger, lattice, decoded))
        if tally is not None:
            tally.add(batch, decoded.labels)
        return text

    with open_data(
        arguments.input, arguments, tables=tables, record=record, keep_sequence_column=True
    ) as data:
        _check_format(data.format, arguments)
        with open_output(arguments.output) as file:
            prompt = arguments.flush or data.waits
            batches = read_batches(data, tagger, record, arguments, prompt)
            threads = thread_count(arguments.jobs)
            # Somebody who waits for the answer to a batch before the next gets it.
            alone = ((batch, work(batch, threads)) for batch in batches)
            for batch, (scored, found) in alone if prompt else in_order(work, batches, threads):
                n_positions += scored.lattice.n_positions
                knows_some |= scored.known
                file.write(text_of(batch, scored.lattice, found))
                if prompt:
                    file.flush()
    if n_positions and not knows_some:
        warn(f"{data.name}: the model knows none of its attributes; was it trained on data of this kind?")
    if tally is not None:
        tally.report()
    return 0


def _segments(
    tagger: FittedModel, lattice: ScoredSequences, decoded: Decoded
) -> list[list[PredictedSegment]]:
    """Return the segments of each sequence's labels, for formats that write them."""
    return tagger.segment_lists(lattice, decoded.labels)


def _at_its_line(error: NoPathError, batch: Batch) -> NoPathError:
    """Return the error with the line at which the first sequence without a labelling begins."""
    if batch.table is None or error.sequence is None:
        return error
    line = batch.table.lines[batch.offsets[error.sequence]]
    return NoPathError(
        f"{batch.source}:{line}: the constraints allow no labelling of the sequence that begins here; forbid "
        "less, or remove some of its known labels"
    )


def _defaults() -> argparse.Namespace:
    """Return the options of a command that names nothing but a model."""
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(["model"])


def _check(arguments: argparse.Namespace) -> None:
    if arguments.nbest and (arguments.posterior or arguments.marginals or arguments.score or arguments.eval):
        raise UsageError("--nbest cannot be combined with --posterior, --marginals, --score or --eval")
    if arguments.why and (arguments.nbest or arguments.posterior or arguments.marginals or arguments.score):
        raise UsageError("--why cannot be combined with --nbest, --posterior, --marginals or --score")
    if arguments.why and (arguments.blanks or arguments.eval):
        raise UsageError("--why cannot be combined with --blanks or --eval")
    unsure = arguments.min_probability
    if unsure is not None and not 0 <= unsure <= 1:
        raise UsageError(f"--min-probability must be from 0 to 1, got {unsure:g}")
    if (arguments.segments or unsure is not None) and (arguments.nbest or arguments.why):
        raise UsageError("--segments and --min-probability cannot be combined with --nbest or --why")
    if arguments.segments and (arguments.marginals or arguments.score or arguments.label_only):
        raise UsageError("--segments cannot be combined with --marginals, --score or --label-only")
    if arguments.blanks and arguments.segments:
        raise UsageError("--segments cannot be combined with --blanks: texts contain blanks")
    if arguments.blanks and arguments.separator is not None:
        raise UsageError("--blanks and --separator cannot be combined: cells may contain blanks")
    if arguments.input == "-" and arguments.model == "-":
        raise UsageError("model and data cannot both come from standard input")


def _check_format(format: DataFormat, arguments: argparse.Namespace) -> None:
    """Raise an error if the output cannot be written in the format of the input."""
    if not format.is_table or format is USUAL_TABLE:
        return
    wrong = [option for option in ("nbest", "score") if getattr(arguments, option)]
    if arguments.why and not format.has_header:
        wrong.append("why")
    if wrong:
        raise UsageError(
            f"--{wrong[0]} cannot be written as {format.name}: convert the data to {USUAL_TABLE.name} first"
        )


def _linear(tagger: FittedModel, option: str) -> LinearTagger:
    """Return the tagger if it is linear; raise an error that names the option otherwise."""
    from crfkit.models.linear.tagger import LinearTagger

    if not isinstance(tagger, LinearTagger):
        raise UsageError(f"{option} needs a linear model, but this model is of another kind")
    return tagger


def _adapt(tagger: FittedModel, arguments: argparse.Namespace) -> None:
    """Add the template and the rules of the options to the model."""
    if arguments.template is not None:
        add_template(tagger, arguments)
    if arguments.rules is not None:
        from crfkit.cli.rule_file import load_rules
        from crfkit.cli.rule_options import check_template

        linear = _linear(tagger, "--rules")
        given = load_rules(arguments.rules)
        check_template(given, linear.template, arguments.rules)
        sure = given.rules[given.rules.confidence == 1]
        linear.use(linear.encoder.under(sure, linear.classes))


def add_template(tagger: FittedModel, arguments: argparse.Namespace) -> None:
    """Add the template of the option to a model without one."""
    from crfkit.features.template import Template

    linear = _linear(tagger, "--template")
    if linear.n_columns is not None:
        what = "an extractor" if linear.template is None else "a template"
        raise UsageError(f"{arguments.model} already has {what}: leave out --template")
    linear.use(linear.encoder.with_template(Template.read(arguments.template)))


class _Tally:
    """True and predicted labels of all batches, a few bytes per token."""

    def __init__(self, labels: list[str]) -> None:
        self._place = {label: i for i, label in enumerate(labels)}
        self._true: list[Any] = []
        self._found: list[Any] = []
        self._lengths: list[Any] = []

    def add(self, batch: Batch, found: Any) -> None:
        """Add the labels of a batch."""
        import numpy as np

        if batch.gold is None or (batch.gold[1] < 0).any():
            raise InputError(f"{batch.source}: --eval needs true labels, but the data has none")
        names, ids = batch.gold
        new = np.array([self._place.setdefault(name, len(self._place)) for name in names], dtype=np.int32)
        self._true.append(new[ids])
        self._found.append(found)
        self._lengths.append(np.diff(batch.offsets))

    def report(self) -> None:
        """Print the scores on standard error."""
        import numpy as np

        from crfkit.cli.scores import conlleval_report
        from crfkit.data.label_codes import LabelCodes

        if not self._true:
            raise InputError("--eval: the data is empty, so there is nothing to score")
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(self._lengths))])
        names = list(self._place)
        true = LabelCodes(names, np.concatenate(self._true), offsets)
        found = LabelCodes(names, np.concatenate(self._found), offsets)
        print(conlleval_report(true, found), file=sys.stderr)
