"""A training run: from the instances to a tagger, logged in CRFsuite's format.

The penalised likelihood is the same as CRFsuite's, so the optimum is the same; the optimiser is crfkit's. The
averaged perceptron, passive-aggressive updates and AROW follow CRFsuite's rules, with the sequences in
another random order. The stopping criteria and their parameters are CRFsuite's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.compat.pycrfsuite.errors import CRFSuiteError
from crfkit.compat.pycrfsuite.feature_index import crfsuite_index
from crfkit.compat.pycrfsuite.holdout import Holdout
from crfkit.compat.pycrfsuite.instances import Instances, Part, without_zeros
from crfkit.compat.pycrfsuite.iteration_log import KINDS, Say, Watch
from crfkit.compat.pycrfsuite.parameters import NO_LIMIT
from crfkit.data.labels import Labels
from crfkit.exceptions import InputError
from crfkit.features.index import FeatureIndex
from crfkit.models.input_encoder import InputEncoder
from crfkit.models.linear.tagger import LinearTagger
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.optim.methods import Task, minimise
from crfkit.threads import thread_count


@dataclass(frozen=True)
class Trained:
    """A tagger, and the numbers of features and attributes before compaction."""

    tagger: LinearTagger
    n_features: int
    n_attributes: int


def train(
    instances: Instances, algorithm: str, params: dict[str, Any], holdout: int, say: Say, n_jobs: int | None
) -> Trained:
    """Train on all instances except the group ``holdout``; evaluate each iteration on that group."""
    learn, held = _parts(instances, holdout)
    if holdout >= 0:
        say(f"Holdout group: {holdout + 1}\n")
        say("\n")
    known = np.unique(learn.ids).astype(np.int64)  # [L] labels to learn, in order of first appearance
    names = list(instances.labels)
    learn = Part(learn.sequences, np.searchsorted(known, learn.ids).astype(np.int32))
    index = _generate_features(learn, len(known), params, say)

    kind = KINDS[algorithm]
    for line in kind.settings(params):
        say(line)
    try:
        objective = LinearLikelihood(
            without_zeros(learn.sequences),
            Labels(learn.ids, None),
            index,
            n_threads=thread_count(n_jobs),
            c2=params.get("c2", 0.0),
        ).penalised(c2=params.get("c2", 0.0), c1=params.get("c1", 0.0))
    except InputError as error:
        raise CRFSuiteError(str(error)) from error
    evaluation = None if held is None else Holdout(held, names, known, n_jobs)
    watch = Watch(kind, objective, index, params, evaluation, say)
    began = time.perf_counter()
    result = minimise(
        kind.method(params),
        Task(
            objective,
            np.zeros(objective.n_parameters),
            params["max_iterations"] or NO_LIMIT,
            tol=0.0,  # the callback stops the optimiser
            seed=0,
            callback=watch,
            say=lambda words: None,
        ),
    )
    if result.interrupted:  # as in python-crfsuite, no model is written
        raise KeyboardInterrupt
    if not np.isfinite(result.value):
        raise CRFSuiteError(
            "the training objective is not a finite number: scale the values of the features"
            + (", or raise c2" if "c2" in params else ""),
            CRFSuiteError.OVERFLOW,
        )
    for line in watch.ending(result.converged, result.message):
        say(line)
    say(f"Total seconds required for training: {time.perf_counter() - began:.3f}\n")
    say("\n")
    encoder = InputEncoder(instances.vocabulary, None)
    tagger = LinearTagger([names[i] for i in known], encoder, index, objective.weights(result.x), n_jobs)
    return Trained(tagger.compact(), index.n_features, learn.sequences.n_attributes)


def _parts(instances: Instances, holdout: int) -> tuple[Part, Part | None]:
    if not len(instances):
        raise CRFSuiteError("there is nothing to train on: call append(xseq, yseq) before train")
    if holdout < 0:
        learn, held = instances.part(), None
    else:
        apart = instances.in_group(holdout)
        learn, held = instances.part(~apart), instances.part(apart)
        if held.sequences.n_positions == 0:
            raise CRFSuiteError(
                f"the holdout group {holdout} has no items; there are the groups {sorted(instances.groups())}"
            )
        if learn.sequences.n_positions == 0:
            raise CRFSuiteError(
                f"there is nothing to train on: every sequence is in the holdout group {holdout}"
            )
    if learn.sequences.n_positions == 0:
        raise CRFSuiteError("there is nothing to train on: every sequence is empty")
    return learn, held


def _generate_features(part: Part, n_labels: int, params: dict[str, Any], say: Say) -> FeatureIndex:
    began = time.perf_counter()
    say("Feature generation\n")
    say("type: CRF1d\n")
    say(f"feature.minfreq: {params['feature.minfreq']:f}\n")
    say(f"feature.possible_states: {params['feature.possible_states']:d}\n")
    say(f"feature.possible_transitions: {params['feature.possible_transitions']:d}\n")
    say("0")
    index = crfsuite_index(
        part,
        n_labels,
        min_freq=params["feature.minfreq"],
        possible_states=params["feature.possible_states"],
        possible_transitions=params["feature.possible_transitions"],
    )
    for percent in range(2, 101, 2):
        say(str(percent // 10) if percent % 10 == 0 else ".")
    say("\n")
    say(f"Number of features: {index.n_features}\n")
    say(f"Seconds required: {time.perf_counter() - began:.3f}\n")
    say("\n")
    return index
