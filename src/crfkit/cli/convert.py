"""``crfkit convert``: data, label schemes and models from one format to another."""

from __future__ import annotations

import argparse

from crfkit.cli import options
from crfkit.cli.messages import UsageError, note, warn
from crfkit.cli.output_files import check_outputs
from crfkit.exceptions import InputError
from crfkit.io.formats import FORMATS
from crfkit.io.model_formats import OWN, WRITABLE, model_format

USAGE = "IN OUT [--to FORMAT] [options]"

DESCRIPTION = """\
Converts data or a model from one format to another. The content of IN tells
which it is. Can also convert labels to another scheme."""

EXAMPLES = """\
examples:
  crfkit convert train.txt train.crfsuite --to crfsuite -t chunking.template
  crfkit convert train.mallet train.crfsuite --to crfsuite
  crfkit convert table.csv table.txt --to columns --sequence-column sentence
  crfkit convert train.txt train-iobes.txt --to columns --labels IOB2:IOBES
  crfkit convert old.crfsuite new.crfkit             a model of CRFsuite
  crfkit convert wapiti.model model.crfsuite         a model of Wapiti
  crfkit convert big.crfkit small.crfkit --compact --data dev.txt

models: crfkit to and from CRFsuite; from Wapiti and CRF++.
data: columns and csv to each other and, with a template, to crfsuite and
mallet; crfsuite and mallet to each other."""


_OPTIONS = f"""
  input IN                  data or a model; - is standard input (data only)
  output OUT                output file; - is standard output (data only)
formats:
  --from {"|".join(("auto", *FORMATS))} = auto  format of data; models are recognised by their content
  --to {"|".join(dict.fromkeys((*FORMATS, *WRITABLE)))}  {" and ".join(WRITABLE)} are also
      formats of models (default: by the name of OUT)
{options.TABLES}
{options.template("turns columns into attributes")}
{options.SPREADSHEET_SAFE}
labels:
{options.label_column("the last; 'none': the data has no labels")}
  --labels FROM:TO          convert labels between IOB1, IOB2, IOE1, IOE2, IOBES and BILOU; FROM may be auto
  --repair begin|drop|join  what to do with labels that break their scheme: begin a new segment, drop the
      segment, or join it to the segment before (default: report an error)
small models:
  --compact                 write a linear model in a fifth of the size or less: 16-bit weights, no unused
      attributes
  --drop-below W:float      with --compact: leave out weights smaller than W, such as 0.01; smaller still
  --data FILE               with --compact: data to compare both models on; with labels, also their scores
{options.QUIET}
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convert``."""
    options.declare(parser, _OPTIONS, {"from": {"dest": "format"}})


def run(arguments: argparse.Namespace) -> int:
    """Find out whether IN is a model or data, and convert it."""
    if arguments.repair is not None and arguments.labels is None:
        raise UsageError("--repair needs --labels")
    if not arguments.compact and (arguments.drop_below is not None or arguments.data is not None):
        raise UsageError("--drop-below and --data need --compact")
    check_outputs(arguments, [arguments.output], [arguments.input, arguments.template, arguments.data])
    found = None if arguments.input == "-" or arguments.format != "auto" else model_format(arguments.input)
    if found is not None:
        _convert_model(arguments, found)
    elif arguments.compact:
        raise InputError(f"{arguments.input}: --compact needs a model, but this is not one")
    elif arguments.to == OWN:
        raise InputError(
            f"{arguments.input}: not a model that crfkit can read; 'crfkit train' trains a model from data"
        )
    else:
        from crfkit.cli.convert_data import convert_data

        convert_data(arguments)
    return 0


def _convert_model(arguments: argparse.Namespace, found: str) -> None:
    """Convert a model file."""
    from crfkit.cli.loading import load_linear, save_changed

    of_data = () if arguments.data is not None else ("label_column", "separator", "sequence_column")
    for name in ("labels", *of_data):
        if getattr(arguments, name) is not None:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{arguments.input} is a model ({found}): {option} is for data only")
    target = arguments.to or next(
        (format for format in WRITABLE if arguments.output.endswith(f".{format}")), OWN
    )
    if target not in WRITABLE:
        raise UsageError(
            f"{arguments.input} is a model ({found}): models can be written as "
            f"{' and '.join(WRITABLE)}, not as {target}"
        )
    if arguments.output == "-":
        raise UsageError("a model cannot be written to standard output: name a file")
    if arguments.compact and target != OWN:
        raise UsageError(f"--compact is a form of models of crfkit, not of {target}")
    tagger, header = load_linear(arguments.input)
    if arguments.template is not None:
        from crfkit.features.template import Template

        if tagger.n_columns is not None or target != OWN:
            raise UsageError("--template is for data, or to add a template to a model written as crfkit's")
        tagger.use(tagger.encoder.with_template(Template.read(arguments.template)))
    if arguments.compact:
        from crfkit.cli.compact import write_compact

        write_compact(tagger, header, arguments)
        return
    if target == OWN:
        save_changed(tagger, header, arguments.output)
    else:
        from crfkit.models.foreign import export_crfsuite

        export_crfsuite(tagger, arguments.output)
        if tagger.template is not None:
            warn(
                f"{arguments.output} has no template: CRFsuite's models cannot hold one. Make attributes "
                "with 'crfkit convert DATA … --template', or tag with 'crfkit tag --template'"
            )
    if not arguments.quiet:
        note(
            f"{arguments.input} ({found}) → {arguments.output} ({target}): {len(tagger.classes):,} labels, "
            f"{tagger.index.n_attributes:,} attributes, {tagger.index.n_features:,} features"
        )
