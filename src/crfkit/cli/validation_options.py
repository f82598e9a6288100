"""Options of ``crfkit train`` for training with validation constraints."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from crfkit.cli import options
from crfkit.cli.messages import UsageError
from crfkit.models.kinds import KINDS

if TYPE_CHECKING:
    from crfkit.models.linear.crf import CRF

_SETTINGS = ("tau", "validation", "last", "gradient", "margin", "max_outer")
_LARGEST, AUTO = "largest", "auto"
_HELD_OUT = "held-out"  # repeats HELD_OUT of validation_choice.py, so that --help does not import NumPy


def penalty(*words: str) -> Callable[[str], float | str]:
    """Return a parser of penalties: a number, or one of some words."""

    def parse(text: str) -> float | str:
        try:
            return text if text in words else float(text)
        except ValueError:
            known = " or ".join(map(repr, words))
            raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor {known}") from None

    return parse


def penalty_groups(text: str) -> Any:
    """Parse the groups of penalties: a word, or a file of scales or of prefixes in JSON."""
    if text in ("templates", "general"):
        return text
    import json

    from crfkit.features.penalty_groups import PenaltyScales, is_grouping

    try:
        with open(text, encoding="utf-8") as file:
            groups = json.load(file)
    except FileNotFoundError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither 'templates' nor 'general' nor a file"
        ) from None
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"cannot read groups from {text}: {error}") from None
    if isinstance(groups, dict) and "penalty_scales" in groups:
        return PenaltyScales.load(text)
    if groups is None or not is_grouping(groups):
        raise argparse.ArgumentTypeError(
            f'{text} has neither scales nor prefixes of attributes by group, such as {{"words": ["w="]}}'
        )
    return groups


def _sets(text: str) -> int | str:
    return text if text in ("sequences", _HELD_OUT) else options.whole(1)(text)


# The gradients repeat GRADIENTS, so that --help does not import NumPy. The estimator has the defaults.
OPTIONS = """
validation constraints:
  --constrained             the same as --kind constrained: parts of the data must be decoded (nearly)
      without errors
  --tau X:float             how far the score of the best labelling of a part may exceed that of the true one
      (default: 0.01)
  --validation N            number of equal parts; 'sequences': each sequence is a part (default: 3);
      'held-out': five folds, each decoded by a model that has not seen it; the search chooses c2
  --last N>=1               one part: the last N rows of each sequence
  --gradient smooth|envelope|flip  gradient of the constraints: smoothed (default), exact, or the paper's
  --margin X:float          margin of the true labels per wrong label (default: 0)
  --max-outer N>=1          most outer steps (default: 20)
"""
TYPES: dict[str, dict[str, Any]] = {
    "c1": {"type": penalty(AUTO)},
    "c2": {"type": penalty(AUTO, _LARGEST)},
    "penalty-groups": {"type": penalty_groups},
    "validation": {"type": _sets},
}


def check_validation(arguments: argparse.Namespace) -> None:
    """Raise an error if an option needs --constrained or contradicts it."""
    if arguments.constrained:
        if AUTO in (arguments.c1, arguments.c2) or arguments.penalty_groups is not None:
            raise UsageError("--c1 auto, --c2 auto and --penalty-groups need --kind linear")
        if arguments.algorithm not in ("auto", "lbfgs"):
            raise UsageError("--constrained needs --algorithm auto or lbfgs")
        return
    for name in _SETTINGS:
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} needs --constrained")
    if arguments.c2 == _LARGEST:
        raise UsageError(f"--c2 {_LARGEST} needs --constrained")


def estimator(arguments: argparse.Namespace, settings: dict[str, Any]) -> CRF:
    """Return an estimator of ``--kind`` with these settings."""
    crf: Any = KINDS[arguments.kind].estimator
    own = _SETTINGS if arguments.constrained else ("penalty_groups", "penalty_folds", "prune")
    made: CRF = crf(**settings, **options.given(arguments, "c2", *own))
    return made


def constraints_in_words(crf: CRF) -> str | None:
    """Describe the result of the constraints; None if there were none."""
    from crfkit.models.linear.constrained_crf import ConstrainedCRF

    if not isinstance(crf, ConstrainedCRF):
        return None
    state = "hold" if crf.feasible_ else "do NOT all hold"
    words = f"{len(crf.violations_)} {state} (largest {crf.violations_.max():.4g}, tau {crf.tau:g})"
    words += f" after {len(crf.outer_history_)} outer step" + "s" * (len(crf.outer_history_) > 1)
    return words + (f", c2 {crf.c2_:.4g}" if crf.c2 == _LARGEST or crf.validation == _HELD_OUT else "")
