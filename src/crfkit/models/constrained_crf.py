"""A CRF trained under validation constraints, by extended-saddle-point search.

Chen, Chen and Wah, "Training conditional random fields under validation constraints" (KDD 2008):

    minimise   -Σ_i log p(y_i | x_i; w) + c2·‖w‖² + c1·‖w‖₁
    subject to h_j(w) = max_ŷ S(v_j, ŷ; w) - S(v_j, y_j; w) <= τ,    j = 1 .. V,

v_j being validation sets cut from the training data. ``optim/saddle.py`` searches; the constraints are in
``objectives/validation.py``. In every other respect the model is a :class:`crfkit.CRF`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from crfkit import parameters as rule
from crfkit.exceptions import InputError
from crfkit.features.template import Template
from crfkit.inference import PermittedPairs
from crfkit.mining.miner import AssociationMiner
from crfkit.models.crf import CRF
from crfkit.models.progress import Progress
from crfkit.models.training import Outcome, TrainingProblem, Watch
from crfkit.models.validation_choice import RULE, validation_spans
from crfkit.objectives.validation import GRADIENTS, ValidationConstraints
from crfkit.optim.saddle import OuterStep, SaddleResult, SaddleSettings, minimize_constrained
from crfkit.selection.selected import Selection

FloatArray = npt.NDArray[np.float64]

_INNER_ITERATIONS = 1000


class ConstrainedCRF(CRF):
    """Linear-chain CRF trained so that it decodes validation parts of the training data nearly right.

    Minimises ``-Σ weight · log p(y | x) + c2·‖w‖² + c1·‖w‖₁`` subject to ``h_j(w) <= tau``: on no validation
    set may the best labelling score more than ``tau`` above the true one.

    Parameters
    ----------
    tau
        The score that the best labelling of a set may have above the true one.
    validation
        A number of sets, equal parts of the training data; or "sequences", a set for each sequence; or a list
        of sets, each the numbers of its sequences; or a splitter of scikit-learn, whose test parts they are.
        ``fit(…, groups=…)``, one a sequence, makes a set of each group (or is passed to the splitter).
    last
        One set instead: the last so many positions of each sequence.
    gradient
        Of h_j: "smooth", a smoothed maximum with falling temperature; "envelope", the exact subgradient;
        "flip", the paper's estimate (order 1).
    margin
        What a wrong label gains at its position: the true labels must win by so much a mistake.
    max_outer
        At most this many outer steps. Where they leave a constraint violated, the best model is kept, a
        warning says which, and ``feasible_`` is False.
    penalty, growth
        What the penalty of the most violated constraint rises by after the first outer step, and what that
        is multiplied with after each further one.
    temperature, cooling
        Of gradient="smooth": the first temperature, and what it is multiplied with after each outer step.
    flip_constant
        c > 0 of the flip gradient, against huge quotients.
    c1, c2, order, algorithm, …
        As of :class:`crfkit.CRF`. c2 is 0 here: the constraints are to do its work. max_iterations is that of
        each inner loop. algorithm="sgd" is not possible.

    Attributes
    ----------
    feasible_ : bool
        Whether the model kept satisfies all constraints, by Viterbi.
    violations_ : ndarray [V]
        h_j of the model kept, by Viterbi.
    penalties_ : ndarray [V]
        The penalties α_j it was found with.
    outer_history_ : list of dict
        One record an outer step: objective, violations, penalties, iterations, passes, seconds, temperature,
        stalled, feasible.

    and those of :class:`crfkit.CRF`.

    Examples
    --------
    >>> from crfkit import ConstrainedCRF
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "a"}, {"word": "dog"}]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> crf = ConstrainedCRF(validation=2).fit(X, y)
    >>> crf.feasible_, crf.predict([[{"word": "the"}, {"word": "dog"}]])
    (True, [['DET', 'NOUN']])
    """

    _rules: ClassVar[dict[str, rule.Rule]] = {
        **CRF._rules,
        "algorithm": rule.one_of("auto", "lbfgs"),
        "tau": rule.number(0),
        "validation": RULE,
        "last": rule.optional(rule.whole_number(1)),
        "gradient": rule.one_of(*GRADIENTS),
        "margin": rule.number(0),
        "max_outer": rule.whole_number(1),
        "penalty": rule.positive(),
        "growth": rule.number(1),
        "temperature": rule.positive(),
        "cooling": rule.positive(),
        "flip_constant": rule.positive(),
    }

    def __init__(
        self,
        tau: float = 0.01,
        validation: Any = 3,
        last: int | None = None,
        gradient: str = "smooth",
        margin: float = 0.0,
        max_outer: int = 20,
        penalty: float = 1.0,
        growth: float = 2.0,
        temperature: float = 1.0,
        cooling: float = 0.25,
        flip_constant: float = 1.0,
        c1: float = 0.0,
        c2: float = 0.0,
        order: int = 1,
        algorithm: str = "auto",
        max_iterations: int | None = None,
        tol: float = 1e-5,
        min_freq: float = 0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        template: Template | str | None = None,
        edge_attributes: Any = None,
        associations: AssociationMiner | None = None,
        features: Selection | None = None,
        patience: int = 10,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: bool | int = False,
        warm_start: bool = False,
    ) -> None:
        super().__init__(
            c1=c1,
            c2=c2,
            order=order,
            algorithm=algorithm,
            max_iterations=max_iterations,
            tol=tol,
            min_freq=min_freq,
            all_possible_states=all_possible_states,
            all_possible_transitions=all_possible_transitions,
            class_weight=class_weight,
            template=template,
            edge_attributes=edge_attributes,
            associations=associations,
            features=features,
            patience=patience,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
        )
        self.tau = tau
        self.validation = validation
        self.last = last
        self.gradient = gradient
        self.margin = margin
        self.max_outer = max_outer
        self.penalty = penalty
        self.growth = growth
        self.temperature = temperature
        self.cooling = cooling
        self.flip_constant = flip_constant

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        lengths: Any = None,
        permitted: PermittedPairs | None = None,
        groups: Any = None,
    ) -> ConstrainedCRF:
        """Train as :meth:`CRF.fit` does, under the constraints.

        ``groups``: one a sequence; each group is a validation set. With ``permitted`` label pairs the
        constraints, too, look at permitted labellings alone.
        """
        self._groups = groups
        try:
            super().fit(X, y, sample_weight, X_dev, y_dev, lengths=lengths, permitted=permitted)
        finally:
            del self._groups
        return self

    def _minimise(self, problem: TrainingProblem) -> Outcome:
        if self.gradient == "flip" and self.order != 1:
            raise InputError("gradient='flip' is defined for order=1; take 'smooth' or 'envelope'")
        spans = validation_spans(
            self.validation,
            problem.sequences.offsets,
            last=None if self.last is None else int(self.last),
            groups=getattr(self, "_groups", None),
        )
        constraints = ValidationConstraints(
            problem.objective,
            spans,
            tau=float(self.tau),
            gradient=self.gradient,
            c=float(self.flip_constant),
            margin=float(self.margin),
        )
        progress = Progress(self.verbose, None)
        watch = Watch(problem.objective, problem.dev, self.patience, progress)
        settings = SaddleSettings(
            max_outer=self.max_outer,
            rate=float(self.penalty),
            growth=float(self.growth),
            temperature=float(self.temperature) if self.gradient == "smooth" else None,
            cooling=float(self.cooling),
            width=float(self.tau) / 8,
            slack=float(self.tau) / 4 if self.tau > 0 else np.inf,
            tolerance=0.0,
            inner_iterations=self.max_iterations or _INNER_ITERATIONS,
            tol=float(self.tol),
        )

        def say(step: OuterStep, _: FloatArray) -> bool:
            progress.say(_words(step, float(self.tau)))
            return False

        result = minimize_constrained(
            problem.objective,
            problem.start,
            inequalities=constraints,
            l1=problem.objective.l1(float(self.c1)),
            settings=settings,
            n_threads=problem.objective.n_threads,
            callback=watch,
            outer_callback=say,
        )
        outcome = self._outcome(problem, constraints, result, watch)
        progress.close(outcome.message)
        return outcome

    def _outcome(
        self,
        problem: TrainingProblem,
        constraints: ValidationConstraints,
        result: SaddleResult,
        watch: Watch,
    ) -> Outcome:
        """The model to keep, and what is true of it: decided by its own best paths."""
        x, value = result.x, result.value
        if watch.best is not None:
            _, x, value = watch.best
        self.violations_ = constraints.violations(x)
        self.penalties_ = result.penalties
        self.outer_history_ = [_record(step, float(self.tau)) for step in result.history]
        self.feasible_ = bool((self.violations_ <= self.tau).all())
        message = result.message
        if not self.feasible_:
            bad = np.flatnonzero(self.violations_ > self.tau)
            worst = int(self.violations_.argmax())
            message = (
                f"{len(bad)} of {len(self.violations_)} validation constraints are violated after "
                f"{len(result.history)} outer steps ({result.message}): on set {worst} the best labelling "
                f"scores {self.violations_[worst]:.4g} above the true one, where tau={self.tau:g} is "
                "allowed. The best model so far is kept; raise max_outer or tau, or take gradient='smooth'"
            )
        return Outcome(x, value, self.feasible_, message, watch.history)

    def _own_record(self) -> dict[str, Any]:
        return {
            "validation_constraints": {
                "violations": self.violations_.tolist(),
                "penalties": self.penalties_.tolist(),
                "feasible": self.feasible_,
                "outer_history": self.outer_history_,
            }
        }

    def _restore(self, record: Mapping[str, Any]) -> None:
        own = record.get("validation_constraints")
        if not isinstance(own, dict):  # trained without constraints
            own = {}
        self.violations_ = np.array(own.get("violations", []), np.float64)
        self.penalties_ = np.array(own.get("penalties", []), np.float64)
        self.feasible_ = bool(own.get("feasible", False))
        self.outer_history_ = list(own.get("outer_history", []))


def _record(step: OuterStep, tau: float) -> dict[str, Any]:
    """An outer step as JSON values."""
    return {
        "step": step.step,
        "objective": step.value,
        "violations": (step.inequalities + tau).tolist(),
        "penalties": step.penalties.tolist(),
        "iterations": step.iterations,
        "passes": step.passes,
        "seconds": step.seconds,
        "temperature": step.temperature,
        "stalled": step.stalled,
        "feasible": step.feasible,
    }


def _words(step: OuterStep, tau: float) -> str:
    worst = float((step.inequalities + tau).max())
    state = "all constraints hold" if step.feasible else f"largest violation {worst:.4g}"
    return f"outer step {step.step}: objective {step.value:.2f}, {state}"
