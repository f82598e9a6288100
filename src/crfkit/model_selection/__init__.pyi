from crfkit.model_selection.cross_validation import cross_val_predict as cross_val_predict
from crfkit.model_selection.cross_validation import cross_val_score as cross_val_score
from crfkit.model_selection.folds import sequence_folds as sequence_folds
from crfkit.model_selection.spaces import default_space as default_space
from crfkit.model_selection.tuning import tune as tune
from crfkit.model_selection.tuning_result import Trial as Trial
from crfkit.model_selection.tuning_result import TuningResult as TuningResult
