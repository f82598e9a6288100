"""How good are the labels? By token, sequence and segment; reports, confusions, scikit-learn scorers.

Also how sure a score is and whether two taggers differ, and the label schemes that segments are written in.
"""

from crfkit.data.label_codes import LabelCodes
from crfkit.data.relabel import (
    convert_labels,
    detect_scheme,
    illegal_places,
    possible_schemes,
    repair_labels,
)
from crfkit.metrics.confusion import ConfusionMatrix, confusion_matrix
from crfkit.metrics.conlleval import ConllevalReport, conlleval
from crfkit.metrics.mcnemar import McNemar, mcnemar
from crfkit.metrics.report import Average, Report, Score
from crfkit.metrics.resampling import (
    Difference,
    Interval,
    RandomisationTest,
    bootstrap,
    bootstrap_difference,
    randomisation_test,
)
from crfkit.metrics.scorers import (
    SequenceScorer,
    make_sequence_scorer,
    segment_f1_scorer,
    sequence_accuracy_scorer,
    strict_segment_f1_scorer,
    token_accuracy_scorer,
    token_f1_macro_scorer,
    token_f1_weighted_scorer,
)
from crfkit.metrics.segment_scores import (
    segment_f1,
    segment_precision,
    segment_recall,
    segment_scores,
    strict_segment_f1,
    strict_segment_scores,
)
from crfkit.metrics.segments import Segment, segments, strict_segments
from crfkit.metrics.tokens import sequence_accuracy, token_accuracy, token_f1, token_report

__all__ = [
    "Average",
    "ConfusionMatrix",
    "ConllevalReport",
    "Difference",
    "Interval",
    "LabelCodes",
    "McNemar",
    "RandomisationTest",
    "Report",
    "Score",
    "Segment",
    "SequenceScorer",
    "bootstrap",
    "bootstrap_difference",
    "confusion_matrix",
    "conlleval",
    "convert_labels",
    "detect_scheme",
    "illegal_places",
    "make_sequence_scorer",
    "mcnemar",
    "possible_schemes",
    "randomisation_test",
    "repair_labels",
    "segment_f1",
    "segment_f1_scorer",
    "segment_precision",
    "segment_recall",
    "segment_scores",
    "segments",
    "sequence_accuracy",
    "sequence_accuracy_scorer",
    "strict_segment_f1",
    "strict_segment_f1_scorer",
    "strict_segment_scores",
    "strict_segments",
    "token_accuracy",
    "token_accuracy_scorer",
    "token_f1",
    "token_f1_macro_scorer",
    "token_f1_weighted_scorer",
    "token_report",
]
