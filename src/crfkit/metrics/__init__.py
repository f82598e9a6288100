"""How good are the labels? By token, sequence and segment; reports, confusions, scikit-learn scorers."""

from crfkit.metrics.confusion import ConfusionMatrix, confusion_matrix
from crfkit.metrics.conlleval import ConllevalReport, conlleval
from crfkit.metrics.report import Average, Report, Score
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
    "Report",
    "Score",
    "Segment",
    "SequenceScorer",
    "confusion_matrix",
    "conlleval",
    "make_sequence_scorer",
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
