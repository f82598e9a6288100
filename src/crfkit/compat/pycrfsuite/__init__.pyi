from crfkit.compat.pycrfsuite.dump import ParsedDump as ParsedDump
from crfkit.compat.pycrfsuite.errors import CRFSuiteError as CRFSuiteError
from crfkit.compat.pycrfsuite.items import ItemSequence as ItemSequence
from crfkit.compat.pycrfsuite.tagger import Tagger as Tagger
from crfkit.compat.pycrfsuite.trainer import BaseTrainer as BaseTrainer
from crfkit.compat.pycrfsuite.trainer import Trainer as Trainer
from crfkit.compat.pycrfsuite.training_log import LabelScore as LabelScore
from crfkit.compat.pycrfsuite.training_log import TrainLogParser as TrainLogParser

CRFSUITE_VERSION: str
