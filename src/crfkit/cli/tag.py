"""``crfkit tag``: label sequences with a model, from a file or as they come in."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from crfkit.cli import constraint_options, options
from crfkit.cli.data_file import open_data
from crfkit.cli.loading import data_record, load_model
from crfkit.cli.messages import UsageError, note, warn
from crfkit.exceptions import InputError, NoPathError
from crfkit.io.formats import USUAL_TABLE
from crfkit.io.opening import check_writable, open_output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crfkit.cli.batches import Batch
    from crfkit.inference import Lattice
    from crfkit.models.linear.explanation import Decision
    from crfkit.models.linear.tagger import LinearTagger
    from crfkit.models.tagger import Tagger

USAGE = "MODEL [INPUT] [-o OUTPUT] [options]"

DESCRIPTION = """\
Labels sequences with a model and writes them with the predicted label as last
column. Reads as it writes: any amount of data, also from a pipe, also by hand."""

EXAMPLES = """\
examples:
  crfkit tag chunks.crfkit test.txt > tagged.txt
  crfkit tag chunks.crfkit test.txt --eval -o tagged.txt    scores on the screen
  tokenize < book.txt | crfkit tag chunks.crfkit | less     as the words come in
  crfkit tag names.crfsuite test.txt --legal IOB2 --marginals
  crfkit tag chunks.crfkit test.txt --nbest 3 --forbid 'O>I-*'
  crfkit tag chunks.crfkit test.txt --why | less -S         what made it say so

Empty lines part sequences; so do lines that begin with -DOCSTART-, which are
left out of the result."""


_OPTIONS = f"""
  model MODEL               a model of crfkit, CRFsuite, Wapiti or CRF++
  input [INPUT] = -         data; - is standard input
the data:
{options.formats()}
{options.label_column("as in training; 'none': there are none")}
  --known-column K          column of labels that are certain: '_', '-' or nothing where the label is free,
      'A|B' where it is A or B
{options.template("for models that have none: it makes their attributes out of columns")}
decoding:
  --posterior               the most probable label of each token, not of the sequence
{constraint_options.OPTIONS}
  --rules FILE              rules of 'crfkit mine' that are always right: where one holds, its label is
      certain; of several, the one with most items decides
{options.JOBS}
what to write:
  -o, --output FILE = -     - is standard output
  --label-only              the predicted labels without the input
  --marginals [all]         also the probability of the label; 'all': of every label, as label:probability
  --score                   '# probability' of the labelling before each sequence
  --nbest K>=1              the K best labellings, each after a line '# rank probability'; the best has rank 0
  --why [N>=1]              also the probability, the next best label with its own, and the N weightiest
      reasons for the one and (below 0) the other (4 unless given)
  --blanks                  blanks between the columns, not tabs
  --eval                    scores on standard error, where labels are given
  --flush                   answer every sequence before the next is read; terminals and pipes are served so
      anyway
{options.QUIET}
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``tag``."""
    marginals = {"const": "best", "choices": ("best", "all")}
    options.declare(parser, _OPTIONS, {"marginals": marginals, "why": {"const": 4}})


def run(arguments: argparse.Namespace) -> int:
    """Load, decode, write, batch after batch."""
    _check(arguments)
    tagger, header = load_model(arguments.model, arguments.jobs)
    _adapt(tagger, arguments)
    constraints = constraint_options.constraints_of(arguments, tagger)

    from crfkit.cli.batches import read_batches
    from crfkit.cli.tag_output import Layout

    if arguments.input == "-" and sys.stdin.isatty() and not arguments.quiet:
        note("reading from the terminal: an empty line ends a sequence, Ctrl-D the input")
    labels = [str(label) for label in tagger.classes]
    layout = Layout(labels, arguments)
    tally = _Tally(labels) if arguments.eval else None
    n_positions, knows_some, record = 0, False, data_record(header)
    with open_data(arguments.input, arguments, tables=tagger.n_columns is not None) as data:
        if data.format.has_header and (arguments.nbest or arguments.score or arguments.why):
            raise UsageError(
                f"--nbest, --score and --why write what {data.format.name} has no place for: convert it to "
                f"{USUAL_TABLE.name}"
            )
        check_writable(arguments.output)
        with open_output(arguments.output) as file:
            prompt = arguments.flush or data.waits
            for batch in read_batches(data, tagger, record, arguments, prompt):
                scored = tagger.scored_under(batch.x, constraints, batch.allowed)
                lattice = scored.lattice
                n_positions += len(lattice.node)
                knows_some |= scored.known
                try:
                    if arguments.why:
                        text = layout.with_reasons(batch, _explained(tagger, batch, lattice))
                    elif arguments.nbest:
                        text = layout.several(batch, tagger.decode_several(lattice, arguments.nbest))
                    else:
                        decoded = tagger.decode(
                            lattice,
                            how="marginal" if arguments.posterior else None,
                            with_marginals=arguments.marginals is not None,
                            with_probability=arguments.score,
                        )
                        text = layout.one(batch, decoded)
                        if tally is not None:
                            tally.add(batch, decoded.labels)
                except NoPathError as error:
                    raise _at_its_line(error, batch) from error
                file.write(text)
                if prompt:
                    file.flush()
    if n_positions and not knows_some:
        warn(f"{data.name}: the model knows none of its attributes; was it trained on data of this kind?")
    if tally is not None:
        tally.report()
    return 0


def _explained(tagger: Tagger, batch: Batch, lattice: Lattice) -> Iterator[list[Decision]]:
    """The best labelling of each sequence, with what speaks for it."""
    from crfkit.models.linear.explanation import explain

    linear = _linear(tagger, "--why")
    return explain(linear, linear.encode(batch.x).sequences, lattice)


def _at_its_line(error: NoPathError, batch: Batch) -> NoPathError:
    """The error with the line that the first sequence without a labelling begins at."""
    if batch.table is None or error.sequence is None:
        return error
    line = batch.table.lines[batch.offsets[error.sequence]]
    return NoPathError(
        f"{batch.source}:{line}: nothing is left of the labellings of the sequence that begins here; forbid "
        "less, or free some of its known labels"
    )


def _check(arguments: argparse.Namespace) -> None:
    if arguments.nbest and (arguments.posterior or arguments.marginals or arguments.score or arguments.eval):
        raise UsageError("--nbest goes without --posterior, --marginals, --score and --eval")
    if arguments.why and (arguments.nbest or arguments.posterior or arguments.marginals or arguments.score):
        raise UsageError("--why goes without --nbest, --posterior, --marginals and --score")
    if arguments.why and (arguments.blanks or arguments.eval):
        raise UsageError("--why is to be read, between tabs: it goes without --blanks and --eval")
    if arguments.blanks and arguments.separator is not None:
        raise UsageError("--blanks: cells that were between tabs may hold blanks; leave out one of the two")
    if arguments.input == "-" and arguments.model == "-":
        raise UsageError("model and data cannot both come from standard input")


def _linear(tagger: Tagger, option: str) -> LinearTagger:
    """The same tagger, for options that linear models alone have."""
    from crfkit.models.linear.tagger import LinearTagger

    if not isinstance(tagger, LinearTagger):
        raise UsageError(f"{option} goes with linear models, and this is none")
    return tagger


def _adapt(tagger: Tagger, arguments: argparse.Namespace) -> None:
    """Give the model the template and the rules that the user wants it to have."""
    if arguments.why:
        _linear(tagger, "--why")
    if arguments.template is not None:
        linear = _linear(tagger, "--template")
        linear.use(linear.encoder.with_template(_added_template(arguments, linear)))
    if arguments.rules is not None:
        from crfkit.cli.rule_file import load_rules
        from crfkit.cli.rule_options import check_template

        linear = _linear(tagger, "--rules")
        given = load_rules(arguments.rules)
        check_template(given, linear.template, arguments.rules)
        sure = given.rules[given.rules.confidence == 1]
        linear.use(linear.encoder.under(sure, linear.classes))


def _added_template(arguments: argparse.Namespace, tagger: LinearTagger) -> Any:
    from crfkit.features.template import Template

    if tagger.template is not None:
        raise UsageError(f"{arguments.model} has a template of its own: leave out --template")
    return Template.read(arguments.template)


class _Tally:
    """True and predicted labels of all batches, a few bytes per token."""

    def __init__(self, labels: list[str]) -> None:
        self._place = {label: i for i, label in enumerate(labels)}
        self._true: list[Any] = []
        self._found: list[Any] = []
        self._lengths: list[Any] = []

    def add(self, batch: Batch, found: Any) -> None:
        """One batch more."""
        import numpy as np

        if batch.gold is None or (batch.gold[1] < 0).any():
            raise InputError(f"{batch.source}: --eval needs true labels, and there are none")
        names, ids = batch.gold
        new = np.array([self._place.setdefault(name, len(self._place)) for name in names], dtype=np.int32)
        self._true.append(new[ids])
        self._found.append(found)
        self._lengths.append(np.diff(batch.offsets))

    def report(self) -> None:
        """The scores, on standard error."""
        import numpy as np

        from crfkit.cli.scores import conlleval_report
        from crfkit.data.label_codes import LabelCodes

        if not self._true:
            raise InputError("--eval: there is nothing to score, the data is empty")
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(self._lengths))])
        names = list(self._place)
        true = LabelCodes(names, np.concatenate(self._true), offsets)
        found = LabelCodes(names, np.concatenate(self._found), offsets)
        print(conlleval_report(true, found), file=sys.stderr)
