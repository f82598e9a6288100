"""scikit-learn's conventions for parameters, for every estimator.

Only those checks of ``check_estimator`` apply that concern parameters and attributes. The others call ``fit``
with one flat table and one flat y: for a CRF, X and y are sequences, and a table without ``lengths`` is an
error on purpose.
"""

import pytest
from estimators import ESTIMATORS, make
from sklearn.utils import estimator_checks

from crfkit import KernelLogisticRegression, selection
from crfkit.compat import sklearn_crfsuite
from crfkit.kernels import GraphKernel
from crfkit.mining import AssociationMiner

CHECKS = [
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_mixin_order",
    "check_valid_tag_types",
    "check_estimator_tags_renamed",
]
ALL = [
    *map(make, ESTIMATORS),
    KernelLogisticRegression(),
    sklearn_crfsuite.CRF(),
    selection.GradientSelector(),
    selection.GainSelector(),
    selection.L1PathSelector(),
    selection.MutualInformationSelector(),
    selection.StabilitySelector(selection.GradientSelector()),
    AssociationMiner(),
    GraphKernel(),
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("estimator", ALL, ids=lambda estimator: type(estimator).__name__)
def test_checks_of_scikit_learn(estimator, check):
    if not hasattr(estimator_checks, check):
        pytest.skip(f"this scikit-learn has no {check}")
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)
