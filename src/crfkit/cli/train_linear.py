"""``crfkit train`` for linear models: with a template or attributes, with or without constraints."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING, Any

from crfkit.cli import options, rule_options, validation_options
from crfkit.cli.messages import UsageError, ending, note, penalties_in_words, warn
from crfkit.cli.rule_options import check_template, check_training, training_miner, use_in_words
from crfkit.cli.train_blocks import check_blocks, read_blocks
from crfkit.cli.train_cluster import check_cluster, read_partitions
from crfkit.cli.train_data import Data, Job, read_data, read_dev, read_template, word_features
from crfkit.cli.validation_options import AUTO, check_validation, constraints_in_words, estimator
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.features.template import Template
    from crfkit.inference import PrunedShare
    from crfkit.models.linear.crf import CRF

GOES_WITH = "linear models"

_MANY_LABELS = 500  # more labels are probably a mistake
_SEARCHED = 2_000_000  # tokens times labels up to which training searches c2 by itself: more gain little
_FEWEST = 10  # sequences for a search by itself: fewer hardly tell penalties apart


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of linear models."""
    from crfkit.optim.methods import ALGORITHMS

    text = f"""
linear models:
{options.template("default for columns: features of words and classes")}
  --continue MODEL          continue training this model on new data, with weights close to its own
  --start MODEL             start from the weights of this model, but train on DATA only
  --c1 X = 0.0              L1 penalty; makes models sparse; 'auto': as large as the c2 that is found
  --c2 X                    L2 penalty (default: 'auto', the best on held-out parts of DATA; 0.1 if DATA has
      fewer than {_FEWEST} sequences or is large: tokens times labels above {_SEARCHED:,}; with --kind
      constrained: 0; 'largest': the largest that the constraints allow)
  --penalty-groups NAME     penalties by groups of features: 'templates': --c2 auto finds one per template or
      name of an attribute; 'general': scales that suit the default features; or a JSON file of scales, or of
      prefixes by group
  --penalty-folds N>=2 = 5  parts of DATA that --c2 auto holds out in turn
  --algorithm NAME = auto   one of {", ".join(ALGORITHMS)}: lbfgs (with --c1: OWL-QN), sgd (stochastic),
      auto: the fastest; without penalties ap (averaged perceptron), pa (passive-aggressive) and arow, with
      settings as in 'pa(c=0.5)'
  --unknown LABEL           this label means that a label is unknown (crfkit annotate writes '_'): training
      sums over all labels there
  --tol X:float = 1e-5      stop when the relative change of the objective is smaller
large data:
  --blocks DIR              encode DATA once, in DIR, and train from there: for data larger than memory, and
      for the next training, which reuses DIR unless DATA or options have changed
  --dask ADDRESS            train on a Dask cluster, the address of whose scheduler this is: its workers read
      DATA, one partition per file, and must see the files under the same names
features:
  --features FILE           use exactly the features of this file, written by 'crfkit select'
  --min-freq N:float        leave out features that occur less often
  --prune P:float = 0       with --order 2 or higher: train order 1 first, continue from it, and leave out
      labels of less probability there; 0.0001 makes training much faster with many labels
  --all-possible-states     also features for attributes and labels never seen together
  --all-possible-transitions  also features for transitions never seen
{validation_options.OPTIONS}
{rule_options.OPTIONS}"""
    own: dict[str, dict[str, Any]] = {
        "continue": {"dest": "continued"},
        "algorithm": {"type": _algorithm},
        "min-freq": {"default": 0},
    }
    options.declare(parser, text, own | validation_options.TYPES | rule_options.TYPES)


def _algorithm(text: str) -> str:
    from crfkit.optim.methods import find_method

    try:
        find_method(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _check(arguments: argparse.Namespace) -> None:
    if arguments.kind == "constrained":  # --constrained is the same
        arguments.constrained = True
    elif arguments.constrained and arguments.kind == "linear":
        arguments.kind = "constrained"
    if arguments.continued is not None and arguments.start is not None:
        raise UsageError("--continue and --start cannot be combined")
    if arguments.prune and arguments.continued is not None:
        raise UsageError("--prune and --continue cannot be combined")
    if arguments.prune and arguments.kind == "linear" and arguments.order in (None, 1):
        raise UsageError("--prune needs --order 2 or higher")


CHECKS = (_check, check_blocks, check_cluster, check_training, check_validation)


def prepare(arguments: argparse.Namespace) -> Job:
    """Read the data and create the estimator."""
    from crfkit.features.template import Template

    crf, template = _estimator(arguments)
    miner, rule_file = training_miner(arguments, sys.stderr.isatty() and not arguments.quiet)
    if not arguments.quiet and arguments.template is not None and template is not None:
        note(f"{arguments.template}: {template.dialect} template")
        if not template.transitions and not template.edge_attributes:
            note(f"{arguments.template} has no line B, so labels do not depend on the previous label")
    # Rules and selected features refer to the lines of a template.
    default = word_features if miner is None and arguments.features is None else None
    reader = read_data if arguments.blocks is None else read_blocks
    reader = reader if arguments.dask is None else read_partitions
    data, maker = reader(arguments.data, arguments, template or crf.extractor, crf, default)
    if maker is None or isinstance(maker, Template):
        template = maker
        check_template(rule_file, template, arguments.rules)
        crf.set_params(template=template)
    else:
        crf.set_params(extractor=maker)
    crf.set_params(associations=miner)
    dev = read_dev(data, arguments, maker, crf)
    n_labels = data.n_labels
    is_small = data.n_sequences >= _FEWEST and data.n_tokens * n_labels <= _SEARCHED
    if arguments.c2 is None and not arguments.constrained and _is_searched(crf, arguments, is_small):
        crf.set_params(c2=AUTO)
    if n_labels > _MANY_LABELS:
        warn(
            f"{n_labels:,} different labels: time and memory grow with their square; if the labels are in "
            "another column, name it with --label-column"
        )

    def fit(*given: Any, checkpoint: Any, **groups: Any) -> None:
        if arguments.continued is None:
            with contextlib.closing(data):
                crf.fit(*given, checkpoint=checkpoint, **groups)
        else:
            crf.partial_fit(*given, checkpoint=checkpoint)
        if miner is not None and not len(crf.rules_):
            _without_rules(data, arguments)

    return Job(crf, data, dev, fit, " (--start {} continues from there)")


def _estimator(arguments: argparse.Namespace) -> tuple[CRF, Template | None]:
    """Return the estimator with its parameters and the earlier model, if any; and the template, if known."""
    settings = {
        "c1": arguments.c1,
        "order": arguments.order or 1,
        "algorithm": arguments.algorithm,
        "max_iterations": arguments.max_iterations,
        "tol": arguments.tol,
        "min_freq": arguments.min_freq,
        "all_possible_states": arguments.all_possible_states,
        "all_possible_transitions": arguments.all_possible_transitions,
        "class_weight": arguments.class_weight,
        "patience": arguments.patience,
        "n_jobs": arguments.jobs,
        "random_state": arguments.seed,
        "verbose": options.verbosity(arguments),
        "warm_start": arguments.start is not None,
    }
    crf = estimator(arguments, settings)
    if arguments.features is not None:
        from crfkit.selection.selected import Selection

        crf.set_params(features=Selection.load(arguments.features))
    template = read_template(arguments)
    earlier = arguments.continued or arguments.start
    if earlier is not None:
        from crfkit.cli.loading import load_linear
        from crfkit.models.training_record import PenaltyRecord

        crf.tagger_, header = load_linear(earlier, arguments.jobs)
        crf.set_params(edge_attributes=(header.get("params") or {}).get("edge_attributes"))
        found = PenaltyRecord.from_header(header)
        if found is not None and arguments.c2 in (None, AUTO):
            crf.c2_ = found.c2  # that --continue goes on with
        if arguments.order is None:
            crf.set_params(order=crf.tagger_.index.order)
        if template is None:
            template = crf.tagger_.template
            crf.set_params(extractor=crf.tagger_.extraction)
        elif template != crf.tagger_.template:
            raise InputError(f"{arguments.template} is not the template of {earlier}: leave out --template")
    return crf, template


def _is_searched(crf: CRF, arguments: argparse.Namespace, is_small: bool) -> bool:
    """Return whether training finds c2 if --c2 is not given."""
    from crfkit.features.penalty_groups import PenaltyScales
    from crfkit.optim.methods import find_method

    if arguments.continued is not None:
        return hasattr(crf, "c2_")
    groups = arguments.penalty_groups
    if crf.c1 == AUTO or (groups is not None and groups != "general" and PenaltyScales.of(groups) is None):
        return True
    if crf.prune > 0:
        return False  # it needs a number
    if crf.associations is not None or crf.features is not None:
        return False  # rules and selections have seen the labels of all parts
    return is_small and find_method(crf.algorithm)[0].tol_factor is not None


def _without_rules(data: Data, arguments: argparse.Namespace) -> None:
    """Raise an error if no rules were found; only warn if --c1 or --min-freq removed them."""
    if arguments.c1 != 0 or arguments.min_freq > 1:
        warn("no rule has a weight: --c1 and --min-freq remove rare features, and rules are rare")
        return
    raise InputError(
        f"no rules in {data.n_tokens:,} tokens, so there is no model with rules: lower --rule-support or "
        "--rule-confidence, or leave out --associations"
    )


def report(crf: CRF) -> list[tuple[str, str]]:
    """Return facts about the trained model: pairs of name and text."""
    index, associations = crf.tagger_.index, crf.tagger_.associations
    size = f"{len(crf.classes_):,} labels, {index.n_attributes:,} attributes, {index.n_features:,} features"
    lines = [("model", size)]
    if associations is not None:
        n, given = len(associations.rules), getattr(crf.associations, "rules", None)
        some = f" of {len(given):,}" if given is not None and len(given) > n else ""
        lines.append(("rules", f"{n:,}{some} as {use_in_words(associations.use)}"))
    how = ending(crf.history_, crf.converged_)
    lines.append(("objective", f"{crf.objective_:,.4f} after {crf.n_iter_:,} iterations ({how})"))
    if hasattr(crf, "pruned_"):
        lines.append(("pruned", _pruned_in_words(crf.pruned_)))
    if isinstance(getattr(crf, "penalties_", None), dict):
        lines.append(("penalties", penalties_in_words(crf.c1, crf.c2_, crf.penalties_)))
    constraints = constraints_in_words(crf)
    return lines if constraints is None else [*lines, ("constraints", constraints)]


def _pruned_in_words(share: PrunedShare) -> str:
    return (
        f"{100 * share.mean:.2g} % of the probability, at most {100 * share.largest:.2g} % of a sequence "
        f"({share.n_sequences:,} of the training data)"
    )
