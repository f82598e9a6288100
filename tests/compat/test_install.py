"""crfkit.compat.install: the originals' names, in processes of their own."""

import pickle
import subprocess
import sys

import pytest
import sklearn_crfsuite as original

from crfkit import compat
from crfkit.exceptions import InputError


def run(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_name_is_ours_and_there_is_one_class():
    run(
        """
import crfkit.compat
crfkit.compat.install()
crfkit.compat.install()
import sys
assert "crfkit.compat.sklearn_crfsuite" not in sys.modules  # nothing is imported before it is asked for
import sklearn_crfsuite.metrics, sklearn_crfsuite.scorers, sklearn_crfsuite.trainer, pycrfsuite._pycrfsuite
from sklearn_crfsuite import CRF, estimator
from sklearn_crfsuite.utils import flatten
from pycrfsuite import Tagger, _dumpparser, _logparser
import crfkit.compat.sklearn_crfsuite as ours
import crfkit.compat.pycrfsuite as base
assert sklearn_crfsuite is ours and pycrfsuite is base
assert CRF is ours.CRF is estimator.CRF
assert Tagger is base.Tagger is pycrfsuite._pycrfsuite.Tagger
assert _logparser.TrainLogParser is base.TrainLogParser and _dumpparser.ParsedDump is base.ParsedDump
assert ours.__spec__.name == ours.__name__ == "crfkit.compat.sklearn_crfsuite"
assert flatten([["a"], ["b", "c"]]) == ["a", "b", "c"] == ours.metrics.flatten([["a"], ["b", "c"]])
"""
    )


def test_too_late():
    with pytest.raises(InputError, match=r"pycrfsuite is already imported from .*: call crfkit\."):
        compat.install()


@pytest.mark.parametrize("protocol", [2, 4])
def test_pickles_of_the_original(small, tmp_path, protocol):
    X, y, X_test, y_test = small
    crf = original.CRF(c2=0.5, max_iterations=20).fit(X, y, X_test, y_test)
    marginals = crf.predict_marginals(X_test)
    found = pickle.dumps((crf, X_test, list(crf.predict(X_test)), marginals), protocol)
    (tmp_path / "crf.pickle").write_bytes(found)
    run(
        """
import pickle, sys
import crfkit.compat
crfkit.compat.install()
with open(sys.argv[1], "rb") as file:
    crf, X, labels, marginals = pickle.load(file)
from crfkit.compat.sklearn_crfsuite import CRF
assert type(crf) is CRF and (crf.c2, crf.max_iterations, crf.n_jobs) == (0.5, 20, None)
for one in (crf, pickle.loads(pickle.dumps(crf))):
    assert list(one.predict(X)) == [list(found) for found in labels]
    for ours, theirs in zip(one.predict_marginals(X), marginals):
        for a, b in zip(ours, theirs):
            assert max(abs(a[label] - b[label]) for label in b) < 1e-13
    assert one.training_log_.last_iteration["num"] == 20
    assert one.training_log_.last_iteration["scores"]
assert crf.modelfile.auto and open(crf.modelfile.name, "rb").read(4) == b"lCRF"
""",
        tmp_path / "crf.pickle",
    )


def test_a_pickle_of_the_original_with_a_file_of_its_own(small, tmp_path):
    path = str(tmp_path / "model.crfsuite")
    crf = original.CRF(model_filename=path, max_iterations=5).fit(*small[:2])
    (tmp_path / "crf.pickle").write_bytes(pickle.dumps((crf, small[2], list(crf.predict(small[2])))))
    run(
        """
import pickle, sys
import crfkit.compat
crfkit.compat.install()
with open(sys.argv[1], "rb") as file:
    crf, X, labels = pickle.load(file)
assert list(crf.predict(X)) == [list(found) for found in labels]
assert crf.modelfile.name.endswith("model.crfsuite") and not crf.modelfile.auto
""",
        tmp_path / "crf.pickle",
    )
