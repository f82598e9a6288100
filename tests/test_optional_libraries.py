"""crfkit with NumPy alone: what works without the optional libraries, and what the others say."""

import pickle
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

from crfkit import CRF, conventions, optional
from crfkit.datasets import casino
from crfkit.exceptions import CRFKitError, MissingLibraryError

BLOCK = """
import sys
class Blocked:
    names = {"sklearn", "scipy", "joblib", "threadpoolctl", "pandas", "matplotlib", "lightgbm", "tqdm",
             "pynndescent", "dask", "distributed", "maxflow"}
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
import warnings
warnings.simplefilter("error")
"""


def without_libraries(code: str, place: Path) -> str:
    """Run code in an interpreter that finds none of the optional libraries; return its output."""
    done = subprocess.run(
        [sys.executable, "-c", BLOCK + code], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_numpy_is_the_only_dependency():
    described = metadata("crfkit")
    extras = set(described.get_all("Provides-Extra"))
    always = [one for one in described.get_all("Requires-Dist") if "extra ==" not in one]
    assert [one.split(">")[0] for one in always] == ["numpy"]
    assert {"sklearn", "trees", "kernels", "plot", "progress", "graph", "all"} <= extras
    for _, source in optional._LIBRARIES.values():
        assert "[" not in source or source[len("crfkit[") : -1] in extras


LINEAR = """
import pickle
from crfkit import CRF, ConstrainedCRF
from crfkit.datasets import addresses, casino
from crfkit.features import Features, column, token_features
from crfkit import metrics
tokens, y = addresses(60, random_state=1)
X = [token_features(one) for one in tokens]
crf = CRF(c2=0.2, max_iterations=300).fit(X[:50], y[:50], X_dev=X[50:], y_dev=y[50:])
crf.save("m.crfkit")
loaded = CRF.load("m.crfkit")
found = crf.predict(X[50:])
assert loaded.predict(X[50:]) == found
assert loaded.predict_marginals(X[50:51]) == crf.predict_marginals(X[50:51])
assert metrics.token_accuracy(y[50:], found) == crf.score(X[50:], y[50:]) > 0.5
assert metrics.segment_f1(y[50:], found) > 0.5
assert metrics.mcnemar(y[50:], found, found).p_value == 1
assert repr(crf) == "CRF(c2=0.2, max_iterations=300)", repr(crf)
bundle = crf._repr_mimebundle_()
assert bundle["text/plain"] == repr(crf), bundle
assert "<code>CRF(c2=0.2, max_iterations=300)</code>" in bundle["text/html"]
assert "linear-chain CRF" in bundle["text/html"] and "linear-chain CRF" not in CRF()._repr_html_()
copy = type(crf)(**crf.get_params())
assert copy.fit(X[:50], y[:50], X_dev=X[50:], y_dev=y[50:]).predict(X[50:]) == found
again = pickle.loads(pickle.dumps(crf))
assert again.predict(X[50:]) == found
with open("plain.pickle", "wb") as file:
    pickle.dump(crf, file)
from crfkit.conventions import NotFittedError, clone
assert clone(crf).set_params(c2=1).get_params()["c2"] == 1
try:
    CRF().set_params(c3=1)
except ValueError as error:
    assert "Invalid parameter 'c3' for estimator CRF()" in str(error), error
else:
    raise SystemExit("set_params takes anything")
try:
    CRF().predict(X)
except NotFittedError as error:
    assert "This CRF instance is not fitted yet" in str(error)
own = CRF(extractor=Features(column(0, "w"), column(0, "w").suffix(2)), max_iterations=200)
assert own.fit(tokens, y).predict(tokens[:2]) != []
rolls, dice = casino(12, 12, random_state=1)
items = [[[f"roll={roll}"] for roll in sequence] for sequence in rolls]
ConstrainedCRF(validation=[[0, 1], [2, 3]]).fit(items, dice).predict(items)
from crfkit.mining import AssociationMiner
mined = CRF(associations=AssociationMiner(min_support=4, important=False)).fit(X, y)
assert len(mined.rules_) > 0
assert mined.get_params()["associations__min_support"] == 4
from crfkit.selection import GradientSelector, StabilitySelector
warnings.simplefilter("ignore")  # about copies of attributes
assert len(GradientSelector(n_features=20).fit(X, y).selected_) == 20
assert len(StabilitySelector(GradientSelector(n_features=9), n_resamples=3).fit(X, y).selected_) > 0
from crfkit.compat import pycrfsuite, sklearn_crfsuite
shim = sklearn_crfsuite.CRF(max_iterations=10).fit(X, y)
assert shim.score(X, y) > 0.5
import numpy as np
rows = [np.array([[float(roll == k) for k in range(1, 7)] for roll in sequence]) for sequence in rolls]
assert CRF().fit(rows, dice).predict(rows) != []
assert not Blocked.names & {name.split(".")[0] for name in sys.modules}
"""


def test_a_model_trains_saves_loads_and_tags(tmp_path):
    without_libraries(LINEAR, tmp_path)
    crf = pickle.loads((tmp_path / "plain.pickle").read_bytes())  # here with scikit-learn
    assert repr(crf) == "CRF(c2=0.2, max_iterations=300)"
    loaded = CRF.load(tmp_path / "m.crfkit")
    assert loaded.state_features_ == crf.state_features_


def test_a_pickle_of_scikit_learns_class_loads_without_it(tmp_path):
    rolls, dice = casino(12, 12, random_state=1)
    items = [[[f"roll={roll}"] for roll in sequence] for sequence in rolls]
    crf = CRF(c2=0.5).fit(items, dice)
    (tmp_path / "crf.pickle").write_bytes(pickle.dumps((crf, items)))
    code = """
import pickle
from pathlib import Path
crf, items = pickle.loads(Path("crf.pickle").read_bytes())
print(crf, crf.predict(items))
"""
    assert without_libraries(code, tmp_path) == f"{crf} {crf.predict(items)}\n"


COMMANDS = """
from crfkit.cli import main
from crfkit.datasets import addresses
from pathlib import Path
tokens, y = addresses(60, random_state=1)
for name, part in (("train.txt", slice(0, 50)), ("test.txt", slice(50, 60))):
    blocks = ["\\n".join(f"{t}\\t{l}" for t, l in zip(*pair)) for pair in zip(tokens[part], y[part])]
    Path(name).write_text("\\n\\n".join(blocks) + "\\n")
for line in (
    "train -q train.txt -m m.crfkit",
    "tag m.crfkit test.txt -o labels.txt",
    "eval labels.txt",
    "inspect m.crfkit",
    "convert m.crfkit m.crfsuite",
    "convert train.txt train.csv",
    "mine train.txt --top 3",
    "select -q train.txt --n-features 5 -o chosen.json",
    "demo",
):
    print("==", line, flush=True)
    code = main(line.split())
    assert code == 0, (line, code)
assert not Blocked.names & {name.split(".")[0] for name in sys.modules}
"""


def test_the_command_line(tmp_path):
    shown = without_libraries(COMMANDS, tmp_path)
    assert shown.count("== ") >= 9
    assert (tmp_path / "labels.txt").stat().st_size > 100


MESSAGES = """
from crfkit import KernelCRF, KernelLogisticRegression, TreeCRF
from crfkit.cli import main
from crfkit.datasets import addresses, galaxy
from crfkit.features import token_features
from crfkit.kernels import GraphKernel, Kernel
from crfkit.selection import GradientSelector
from crfkit.mining import AssociationMiner
from crfkit.compat.sklearn_crfsuite import metrics
from crfkit.exceptions import CRFKitError
import numpy as np
points, arms = galaxy(6, 6, random_state=2)
tokens, y = addresses(30, random_state=1)
X = [token_features(one) for one in tokens]
warnings.simplefilter("ignore")
rules = AssociationMiner(min_support=4, important=False).fit(X, y).rules_
chosen = GradientSelector(n_features=5).fit(X, y)
tries = [
    lambda: KernelCRF().fit(points, arms),
    lambda: KernelLogisticRegression(kernel="linear").fit(points[0], arms[0]),
    lambda: Kernel("rbf", gamma=1.0).between(points[0], points[0]),
    lambda: GraphKernel().build(points[0]),
    lambda: TreeCRF().fit(points, arms),
    lambda: rules.sorted("significance"),
    lambda: rules.to_frame(),
    lambda: GradientSelector(n_features=40, conjunctions=True).fit(X, y),
    lambda: chosen.plot_path(),
    lambda: metrics.flat_f1_score(y, y, average="micro"),
    lambda: __import__("crfkit.compat.sklearn_crfsuite.scorers"),
]
for attempt in tries:
    try:
        attempt()
    except ImportError as error:
        assert isinstance(error, CRFKitError)
        print(error)
    else:
        print("no error")
"""


def test_messages_say_what_to_install(tmp_path):
    found = without_libraries(MESSAGES, tmp_path).splitlines()
    assert found == [
        "training with kernels needs SciPy, which is not installed: pip install 'crfkit[kernels]'",
        "training with kernels needs SciPy, which is not installed: pip install 'crfkit[kernels]'",
        "the kernel 'rbf' needs scikit-learn, which is not installed: pip install 'crfkit[kernels]'",
        "a graph kernel needs SciPy, which is not installed: pip install 'crfkit[graph]'",
        "training a TreeCRF needs LightGBM, which is not installed: pip install 'crfkit[trees]'. "
        "Fitted models do not need it",
        "the significance of rules needs SciPy, which is not installed: pip install 'crfkit[sklearn]'",
        "to_frame needs pandas, which is not installed: pip install pandas",
        "the induction of conjunctions needs SciPy, which is not installed: pip install 'crfkit[sklearn]'",
        "a plot needs matplotlib, which is not installed: pip install 'crfkit[plot]'",
        *(
            f"a {one} of sklearn_crfsuite needs scikit-learn, which is not installed: pip install "
            "'crfkit[sklearn]'"
            for one in ("score", "scorer")
        ),
    ]


def test_the_command_line_says_what_to_install(tmp_path):
    (tmp_path / "data.txt").write_text("a\tX\nb\tY\n\nb\tY\n")
    code = """
from crfkit.cli import main
sys.stderr = sys.stdout
for line in "select data.txt --n-features 1 -o s.json --plot s.png", "train data.txt -m m --kind trees":
    print(main(line.split()))
"""
    shown = without_libraries(code, tmp_path)
    assert "crfkit: --plot needs matplotlib, which is not installed: pip install 'crfkit[plot]'\n1\n" in shown
    assert "needs LightGBM, which is not installed: pip install 'crfkit[trees]'" in shown


def test_fitted_trees_need_no_library(tmp_path):
    from crfkit import TreeCRF

    pytest.importorskip("lightgbm")
    rolls, dice = casino(12, 12, random_state=1)
    rows = [[{"roll": roll} for roll in sequence] for sequence in rolls]
    trees = TreeCRF(n_iterations=3, n_leaves=4, random_state=0).fit(rows, dice)
    trees.save(tmp_path / "t.crfkit")
    code = f"from crfkit import TreeCRF\nprint(TreeCRF.load('t.crfkit').predict({rows[:2]!r}))"
    assert without_libraries(code, tmp_path) == f"{trees.predict(rows[:2])}\n"


def test_with_scikit_learn_estimators_are_its_own():
    base = pytest.importorskip("sklearn.base")
    assert issubclass(CRF, base.BaseEstimator)
    assert base.clone is conventions.clone


def test_a_library_that_fails_to_load(monkeypatch):
    """An installed library whose import fails is not called missing."""

    def fails(name: str) -> None:
        raise ImportError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setattr(optional, "import_module", fails)
    with pytest.raises(MissingLibraryError, match=r"cannot be imported \(libgomp") as caught:
        optional.needed("lightgbm", "training")
    assert caught.value.name == "lightgbm"
    assert isinstance(caught.value, CRFKitError)
    assert optional.find("lightgbm") is None
