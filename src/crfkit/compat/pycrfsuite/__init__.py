"""python-crfsuite's ``Trainer``, ``Tagger`` and ``ItemSequence``, with crfkit's training and inference.

Models are files in CRFsuite's format: python-crfsuite reads them, and its models can be read here.
"""

from crfkit.compat.pycrfsuite.dump import ParsedDump
from crfkit.compat.pycrfsuite.errors import CRFSuiteError
from crfkit.compat.pycrfsuite.items import ItemSequence
from crfkit.compat.pycrfsuite.tagger import Tagger
from crfkit.compat.pycrfsuite.trainer import BaseTrainer, Trainer
from crfkit.compat.pycrfsuite.training_log import LabelScore, TrainLogParser

CRFSUITE_VERSION = "0.12.2"
"""The version of CRFsuite whose behaviour and files these classes follow."""

__all__ = [
    "CRFSUITE_VERSION",
    "BaseTrainer",
    "CRFSuiteError",
    "ItemSequence",
    "LabelScore",
    "ParsedDump",
    "Tagger",
    "TrainLogParser",
    "Trainer",
]
