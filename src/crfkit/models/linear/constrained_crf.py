"""A CRF trained under validation constraints, by extended-saddle-point search.

Chen, Chen, Brent and Tenney, "Constrained optimization for validation-guided conditional random field
learning" (KDD 2009):

    minimise   -Σ_i log p(y_i | x_i; w) + c2·‖w‖² + c1·‖w‖₁
    subject to h_j(w) = max_ŷ S(v_j, ŷ; w) - S(v_j, y_j; w) <= τ,    j = 1 .. V,

where v_j are validation sets cut from the training data. The search is in ``optim/saddle.py``, the
constraints are in ``objectives/validation.py``. In every other respect the model is a :class:`crfkit.CRF`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from crfkit import parameters as rule
from crfkit.exceptions import InputError
from crfkit.features.template import Template
from crfkit.inference import PermittedPairs
from crfkit.io.pictures import save_picture
from crfkit.mining.miner import AssociationMiner
from crfkit.models.checkpoint import Checkpoint
from crfkit.models.linear.constrained_search import ConstrainedSearch, Found
from crfkit.models.linear.constrained_watch import ConstrainedWatch, ConstraintRecord
from crfkit.models.linear.crf import CRF
from crfkit.models.linear.held_out_search import HeldOutConstraintSearch
from crfkit.models.linear.steps import TrainingProblem
from crfkit.models.linear.validation_choice import HELD_OUT, RULE, validation_spans
from crfkit.models.training import Outcome, interruption
from crfkit.models.training_record import for_file
from crfkit.objectives.validation import GRADIENTS, ValidationConstraints
from crfkit.optim.saddle import SaddleSettings
from crfkit.progress import Progress
from crfkit.selection.selected import Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_INNER_ITERATIONS = 1000


class ConstrainedCRF(CRF):
    """Linear-chain CRF trained under the constraint that it decodes validation parts of the data correctly.

    Minimises ``-Σ weight · log p(y | x) + c2·‖w‖² + c1·‖w‖₁`` subject to ``h_j(w) <= tau``: on no validation
    set may the best labelling score more than ``tau`` above the true one.

    Parameters
    ----------
    tau
        Largest permitted difference between the score of the best labelling of a set and the true one; with
        validation="held-out", per position of the set.
    validation
        The number of sets, equal parts of the training data; or "sequences", one set per sequence; or a list
        of sets, each a list of sequence numbers; or a scikit-learn splitter, whose test parts are the sets.
        ``fit(…, groups=…)``, one per sequence, makes one set per group (or is passed to the splitter).
        "held-out": five folds (groups stay together), each constrained under a model that has not seen it;
        the search then chooses c2. ``crfkit.objectives.held_out_constraints`` has the formulas.
    last
        Use one set instead: the last ``last`` positions of each sequence.
    gradient
        Gradient of h_j: "smooth", a smoothed maximum with falling temperature; "envelope", the exact
        subgradient; "flip", the paper's estimate (order 1).
    margin
        Score added to every wrong label: the true labels must win by this much per mistake. With
        validation="held-out" 0 means 1.
    max_outer
        Maximum number of outer steps. If a constraint is still violated after them, the best model is kept, a
        warning names the constraint, and ``feasible_`` is False.
    penalty, growth
        Increase of the most violated constraint's penalty after the first outer step, and the factor of this
        increase after each further one.
    temperature, cooling
        For gradient="smooth": the first temperature, and its factor after each outer step.
    flip_constant
        c > 0 in the flip gradient; it prevents very large quotients.
    c2
        As in :class:`crfkit.CRF`, but 0 by default, because the constraints regularise. "largest" searches
        for the largest penalty from 0.0001 to 1000 under which the constraints still hold (``c2_``); if there
        is none, it searches for a saddle point with c2 = 0. On easy data it may end at about 256 with a
        warning; this number is meaningless. With validation="held-out" it is searched as well, from 0.0001 to
        100, and must not be given.
    c1, order, algorithm, …
        As in :class:`crfkit.CRF`. max_iterations applies to each inner loop. algorithm="sgd" is not possible.
        With a dev set, the best feasible model on it is kept, and patience counts outer steps.

    Attributes
    ----------
    feasible_ : bool
        Whether the kept model satisfies all constraints, by Viterbi; with validation="held-out", whether
        models trained without their fold do.
    converged_ : bool
        Whether it is feasible, and the search was neither stopped nor cut off.
    objective_ : float
        O(w) with ``c2_``, without the penalties of the constraints (which ``history_`` includes).
    violations_ : ndarray [V]
        h_j of the kept model, by Viterbi; with validation="held-out", h_j per position of the model trained
        without fold j.
    penalties_ : ndarray [V]
        The penalties α_j with which it was found.
    c2_ : float
        The L2 penalty with which it was found.
    outer_history_ : list of dict
        One record per outer step (with c2="largest": per training, then per outer step of a search with
        c2 = 0, if there was one): step, c2, objective, violations, penalties, iterations, temperature, gap,
        stalled, feasible, converged, and passes and seconds since the beginning of fit.

    Notes
    -----
    All attributes of :class:`crfkit.CRF` are available as well.

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
        "c1": rule.number(0),
        "c2": rule.either(rule.number(0), rule.one_of("largest")),
        "tau": rule.number(0),
        "validation": RULE,
        "last": rule.optional(rule.whole_number(1)),
        "gradient": rule.one_of(*GRADIENTS),
        "margin": rule.number(0),
        "max_outer": rule.whole_number(1),
        "penalty": rule.positive(),
        "growth": rule.number(1),
        "temperature": rule.positive(),
        "cooling": ("a number above 0 and below 1", lambda v: rule.positive()[1](v) and v < 1),
        "flip_constant": rule.positive(),
    }

    penalty_groups = None  # the constraints choose no groups of penalties
    penalty_folds = 5
    prune = 0.0  # nor is anything left out

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
        c2: float | str = 0.0,
        order: int = 1,
        algorithm: str = "auto",
        max_iterations: int | None = None,
        tol: float = 1e-5,
        min_freq: float = 0,
        all_possible_states: bool = False,
        all_possible_transitions: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        template: Template | str | None = None,
        extractor: Any = None,
        edge_attributes: Any = None,
        associations: AssociationMiner | None = None,
        features: Selection | None = None,
        patience: int = 10,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: bool | int | str = "auto",
        warm_start: bool = False,
    ) -> None:
        given = locals()
        super().__init__(**{name: given[name] for name in CRF._get_param_names() if name in given})
        del self.penalty_groups, self.penalty_folds, self.prune  # no parameters here
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
        y: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        label: str | None = None,
        sequence: str | Sequence[str] | None = None,
        group: str | None = None,
        lengths: Any = None,
        permitted: PermittedPairs | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
        groups: Any = None,
    ) -> ConstrainedCRF:
        """Train as :meth:`CRF.fit` does, under the constraints.

        ``groups``: one per sequence; each group is a validation set. With ``permitted`` label pairs the
        constraints also consider only permitted labellings. ``group`` names the column of the groups of a
        data frame.
        """
        if self._is_table(label, sequence, group):
            more = {"sample_weight": sample_weight, "permitted": permitted, "groups": groups}
            more |= {"lengths": lengths, "checkpoint": checkpoint}
            return self._fit_table(X, y, label, sequence, group, X_dev, **more)
        self._groups = groups
        try:
            given = (X, y, sample_weight, X_dev, y_dev)
            super().fit(*given, lengths=lengths, permitted=permitted, checkpoint=checkpoint)
        finally:
            del self._groups
        return self

    def _minimise(self, problem: TrainingProblem) -> Outcome:
        if self._is_held_out:
            return self._minimise_held_out(problem)
        if self.gradient == "flip" and self.order != 1:
            raise InputError("gradient='flip' is defined for order=1; take 'smooth' or 'envelope'")
        spans = validation_spans(
            self.validation,
            problem.offsets,
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
        inner = self.max_iterations or _INNER_ITERATIONS
        progress = Progress(self.verbose, inner, float(self.tol))
        progress.rounds(self.max_outer)
        watch = ConstrainedWatch(problem, constraints, self.patience, progress)
        search = ConstrainedSearch(problem, constraints, watch, progress)
        search.resume()
        found: Found | list[dict[str, Any]] = []
        if self.c2 == "largest":
            found = search.largest(max_iterations=inner, max_steps=self.max_outer, tol=float(self.tol))
        if not isinstance(found, Found):
            progress.rounds(self.max_outer)
            settings = SaddleSettings(
                max_outer=self.max_outer,
                rate=float(self.penalty),
                growth=float(self.growth),
                temperature=float(self.temperature) if self.gradient == "smooth" else None,
                cooling=float(self.cooling),
                width=float(self.tau) / 40,
                tolerance=0.0,
                inner_iterations=inner,
                tol=float(self.tol),
            )
            found = search.saddle_point(self._l2, settings, found)
        outcome = self._outcome(problem, constraints, found, watch)
        progress.close(outcome.message)
        return outcome

    def _minimise_held_out(self, problem: TrainingProblem) -> Outcome:
        """Choose c2 so that models without a fold satisfy the constraint on it."""
        search = HeldOutConstraintSearch(
            problem,
            groups=getattr(self, "_groups", None),
            seed=int(self.random_state or 0),
            tau=float(self.tau),
            margin=float(self.margin) or 1.0,
            progress=Progress(self.verbose, None),
            tol=float(self.tol),
            max_iterations=self.max_iterations or _INNER_ITERATIONS,
        )
        search.require(c1=self.c1, c2=self.c2, last=self.last, gradient=self.gradient)
        found = search.run(max_outer=self.max_outer, rate=self.penalty, growth=self.growth)
        self.c2_, self.penalties_, self.outer_history_ = found.c2, found.penalties, found.records
        self.violations_ = search.violations
        self.feasible_ = not found.interrupted and bool((self.violations_ <= self.tau).all())
        message = found.message
        if found.interrupted:
            message = interruption(len(search.history), "iterations")
        elif not self.feasible_:
            message = search.what_is_violated()
        search.progress.close(message)
        converged = self.feasible_ and found.converged
        return Outcome(found.x, found.value, converged, message, search.history, found.interrupted)

    @property
    def _is_held_out(self) -> bool:
        return isinstance(self.validation, str) and self.validation == HELD_OUT

    @property
    def _l2(self) -> float:
        return 0.0 if self.c2 == "largest" else float(self.c2)

    def _outcome(
        self,
        problem: TrainingProblem,
        constraints: ValidationConstraints,
        found: Found,
        watch: ConstrainedWatch,
    ) -> Outcome:
        """Return the model to keep; whether it is feasible is decided by its own best paths."""
        x, value, message, converged = found.x, found.value, found.message, found.converged
        self.c2_, self.penalties_ = found.c2, found.penalties
        best = watch.candidate
        if best is not None:
            x, self.c2_, self.penalties_ = best.x, best.c2, best.penalties
            value = replace(problem.objective, l2=best.c2).value(x)
            if watch.exhausted:
                converged = True
                message = (
                    f"no better dev accuracy than {best.accuracy:.4f} under the constraints in "
                    f"{self.patience} outer steps"
                )
        self.violations_ = constraints.violations(x)
        self.outer_history_ = found.records
        self.feasible_ = bool((self.violations_ <= self.tau).all())
        if found.interrupted:
            message = interruption(len(watch.history), "iterations")
        elif not self.feasible_:
            message = self._what_is_violated(message)
        elif not converged:
            message = (
                f"training under constraints did not converge: {message}. The kept model satisfies "
                "all constraints; raise max_outer, max_iterations or tol, if that is not what you want"
            )
        converged = self.feasible_ and converged
        return Outcome(x, value, converged, message, watch.history, found.interrupted)

    def _what_is_violated(self, why: str) -> str:
        bad = np.flatnonzero(self.violations_ > self.tau)
        worst = int(self.violations_.argmax())
        stalled = sum(record["stalled"] for record in self.outer_history_)
        message = (
            f"{len(bad)} of {len(self.violations_)} validation constraints are violated after "
            f"{len(self.outer_history_)} outer steps ({why}): on set {worst} the best labelling scores "
            f"{self.violations_[worst]:.4g} above the true one, where tau={self.tau:g} is allowed. "
        )
        if stalled:
            message += f"{stalled} of the inner loops stalled at a kink. "
        message += "The best model so far is kept; raise max_outer or tau"
        return message + ("" if self.gradient == "smooth" else ", or take gradient='smooth'")

    def plot_search(
        self, path: str | os.PathLike[str] | None = None, *, axes: Sequence[Axes] | None = None
    ) -> list[Axes]:
        """Draw objective, violations and penalties over the outer steps, in three axes. Needs matplotlib.

        If ``path`` is given, the figure is also saved there.
        """
        from crfkit.models.linear.constrained_plot import draw_search

        self._fitted()
        panes = draw_search(self.outer_history_, float(self.tau), axes)
        if path is not None:
            figure: Any = panes[0].figure
            save_picture(figure, path)
        return panes

    def _training_record(self) -> dict[str, Any]:
        chosen = {"chosen": {"c2": self.c2_}} if self.c2 == "largest" else {}
        return {
            **super()._training_record(),
            **chosen,
            "validation_constraints": {
                "violations": self.violations_.tolist(),
                "penalties": self.penalties_.tolist(),
                "feasible": self.feasible_,
                "c2": self.c2_,
                "outer_history": for_file(self.outer_history_),
            },
        }

    def _restore(self, header: Mapping[str, Any]) -> None:
        super()._restore(header)
        own = ConstraintRecord.of(header.get("validation_constraints"))
        self.violations_, self.penalties_, self.feasible_ = own.violations, own.penalties, own.feasible
        self.c2_, self.outer_history_ = own.c2, own.outer_history
