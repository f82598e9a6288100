"""CRFsuite's training algorithms and their parameters: names, defaults, limits and help texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crfkit.exceptions import InputError

ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}
NO_LIMIT = 2**31 - 1  # what CRFsuite shows for "no limit"
SEARCHES = ("MoreThuente", "Backtracking", "StrongBacktracking")


@dataclass(frozen=True)
class Parameter:
    """A training parameter: default, type, check and help text."""

    default: Any
    kind: str  # float, int, flag, or text
    expected: str  # in words
    check: Callable[[Any], bool]
    help: str

    def read(self, name: str, value: Any) -> Any:
        """Return the value as a Python object; numbers may also be given as text."""
        try:
            found = _READERS[self.kind](value)
            sound = self.check(found)
        except (TypeError, ValueError, OverflowError):
            sound = False
        if not sound:
            raise InputError(f"the parameter {name!r} must be {self.expected}, got {value!r}")
        return found


def _whole(value: Any) -> int:
    """Return the number without its fraction, as CRFsuite does: searches over real numbers give 10.5."""
    return int(value) if isinstance(value, int) else int(float(value))


_READERS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": _whole,
    "flag": lambda value: bool(_whole(value)),
    "text": str,
}


def _number(default: float, help: str) -> Parameter:
    return Parameter(default, "float", "a number of at least 0", lambda v: 0 <= v < float("inf"), help)


def _positive(default: float, help: str) -> Parameter:
    return Parameter(default, "float", "a number above 0", lambda v: 0 < v < float("inf"), help)


def _count(default: int, help: str, low: int = 1) -> Parameter:
    return Parameter(default, "int", f"a whole number of at least {low}", lambda v: bool(v >= low), help)


def _flag(default: bool, help: str) -> Parameter:
    return Parameter(default, "flag", "True or False (or 1 or 0)", lambda v: True, help)


_UNUSED = " Accepted for compatibility: crfkit's optimiser reaches the same optimum without it."
_EPOCHS = "At most this many iterations, each a pass over the data."

_FEATURES = {
    "feature.minfreq": _number(0.0, "Features whose values sum to less than this are left out."),
    "feature.possible_states": _flag(
        False, "Also generate features for attribute-label pairs never seen together."
    ),
    "feature.possible_transitions": _flag(False, "Also generate features for transitions never seen."),
}
_C2 = _number(1.0, "Weight of the L2 penalty.")
_PERIOD = "Number of iterations over which the stopping criterion compares."
_DELTA = "Stop when the objective fell by less than this share of itself over ${period} iterations."
_STEP = "Parameter of the search for the initial step size." + _UNUSED

ALGORITHMS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": _number(0.0, "Weight of the L1 penalty; above 0 the model gets sparse (OWL-QN)."),
        "c2": _C2,
        "max_iterations": _count(NO_LIMIT, "At most this many iterations; 0 means no limit.", 0),
        "num_memories": _count(6, "Updates that L-BFGS remembers." + _UNUSED),
        "epsilon": _number(1e-5, "Stop when the gradient's norm is below this share of the weights' norm."),
        "period": _count(10, _PERIOD + " 0 turns it off.", 0),
        "delta": _number(1e-5, _DELTA),
        "linesearch": Parameter(
            "MoreThuente",
            "text",
            "one of " + ", ".join(map(repr, SEARCHES)),
            lambda v: v in SEARCHES,
            "How the step length is found: " + ", ".join(SEARCHES) + "." + _UNUSED,
        ),
        "max_linesearch": _count(20, "Step lengths tried in an iteration." + _UNUSED),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": _count(1000, "At most this many epochs."),
        "period": _count(10, _PERIOD),
        "delta": _number(1e-6, _DELTA),
        "calibration.eta": _positive(0.1, _STEP),
        "calibration.rate": _positive(2.0, _STEP),
        "calibration.samples": _count(1000, _STEP),
        "calibration.candidates": _count(10, _STEP),
        "calibration.max_trials": _count(20, _STEP),
    },
    "averaged-perceptron": {
        **_FEATURES,
        "max_iterations": _count(100, _EPOCHS),
        "epsilon": _number(0.0, "Stop when the mean share of wrong labels in an iteration is below this."),
    },
    "passive-aggressive": {
        **_FEATURES,
        "type": Parameter(1, "int", "0, 1 or 2", lambda v: v in (0, 1, 2), "0: PA, 1: PA-I, 2: PA-II."),
        "c": _number(
            1.0, "Aggressiveness: the longest step of PA-I; PA-II takes shorter steps if it is small."
        ),
        "error_sensitive": _flag(
            True, "Let the loss grow with the square root of the number of wrong labels."
        ),
        "averaging": _flag(True, "Average the weights over all sequences."),
        "max_iterations": _count(100, _EPOCHS),
        "epsilon": _number(0.0, "Stop when the mean loss in an iteration is below this."),
    },
    "arow": {
        **_FEATURES,
        "variance": _positive(1.0, "Variance of every weight at the start."),
        "gamma": _positive(1.0, "How much a change of weights costs against the loss."),
        "max_iterations": _count(100, _EPOCHS),
        "epsilon": _number(0.0, "Stop when the mean loss in an iteration is at most this."),
    },
}


def algorithm_name(algorithm: str, type: str) -> str:
    """Return CRFsuite's full name of an algorithm; short names are accepted."""
    name = ALIASES.get(str(algorithm).lower(), str(algorithm).lower())
    if name not in ALGORITHMS:
        known = ", ".join(repr(known) for known in ("lbfgs", "l2sgd", "ap", "pa", "arow"))
        raise InputError(f"unknown algorithm {algorithm!r}: expected one of {known}")
    if type != "crf1d":
        raise InputError(f"unknown type of model {type!r}: CRFsuite has only 'crf1d'")
    return name


def find_parameter(algorithm: str, name: str) -> Parameter:
    """Return the parameter of this name; raise an error that lists all parameters if there is none."""
    table = ALGORITHMS[algorithm]
    if name in table:
        return table[name]
    elsewhere = [other for other, parameters in ALGORITHMS.items() if name in parameters]
    hint = f" (it belongs to {' and '.join(map(repr, elsewhere))})" if elsewhere else ""
    raise InputError(
        f"the algorithm {algorithm!r} has no parameter {name!r}{hint}; it has {', '.join(table)}"
    )
